"""The `--json` answer of each outcome: one object, its fields a contract with whoever automates."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from publisher.core.faults import Fault
from publisher.core.identity import Identity
from publisher.core.plan import Plan
from publisher.core.pointers_swap import Swap
from publisher.core.refusals import Refusal
from publisher.core.status import ReleaseStatus, RoleStatus
from publisher.outcomes import (
    AdoptedTree,
    Amended,
    AnnouncedReleases,
    Attached,
    Audited,
    Declined,
    Drafted,
    Fetched,
    GateRebuilt,
    Held,
    Indexed,
    ListedRelease,
    Opened,
    Outcome,
    Planned,
    Promoted,
    Refused,
    Reported,
    Restored,
    Script,
    Shared,
    SignedReleases,
    Uploaded,
    Verified,
    Waited,
    Withdrawn,
)

Json = dict[str, Any]


def make_answer(command: str, outcome: Outcome) -> Json:
    """Make the whole answer: `schema`, `command`, `exit`, `result`, then the outcome's own fields."""
    result, write = _WRITERS[type(outcome)]
    head = {"schema": 1, "command": command, "exit": int(outcome.status), "result": result}
    return {**head, **write(outcome)}


def write_refusal(refusal: Refusal) -> Json:
    """Write one refusal."""
    return {
        "rule": refusal.rule,
        "subject": refusal.subject,
        "found": refusal.found,
        "expected": refusal.expected,
        "next": refusal.cure,
    }


def _write_refused(outcome: Refused) -> Json:
    return {
        "refusals": [write_refusal(refusal) for refusal in outcome.refusals],
        "finished": list(outcome.finished),
    }


def _write_plan(plan: Plan) -> Json:
    return {
        "plan": plan.digest,
        "promotion": plan.id,
        "releases": [
            {
                "release": r.name,
                "commit": r.commit,
                "attempt": r.attempt,
                "number": r.number,
                "identities": _write_identities(r.identities),
                "record": r.record.key if r.record else None,
            }
            for r in plan.releases
        ],
        "files": [{"key": f.key, "digest": f.digest, "size": f.size, "role": f.role} for f in plan.files],
        "bytes": plan.size,
        "waived": [write_refusal(refusal) for refusal in plan.waived],
        "pointers": [_write_swap(swap) for swap in plan.swaps],
        "aliases": [
            {"alias": a.name, "from": a.base, "to": a.target, "release": a.release} for a in plan.aliases
        ],
    }


def _write_swap(swap: Swap) -> Json:
    return {
        "set": swap.name,
        "releases": list(swap.releases),
        "files": [{"key": m.key, "from": m.base, "to": m.new} for m in swap.members],
    }


def _write_promoted(outcome: Promoted) -> Json:
    return {
        **(_write_plan(outcome.plan) if outcome.plan else {}),
        "written": len(outcome.plan.files) if outcome.plan else 0,
        "already_public": outcome.already_public,
        "artifact_bytes_through_publisher": outcome.streamed,
        "finished": list(outcome.finished),
        "swapped": [
            {
                "set": ended.swap.name,
                "state": str(ended.state),
                "superseded": list(ended.superseded),
                "left_behind": list(ended.left_behind),
            }
            for ended in outcome.swapped
        ],
    }


def _write_planned(outcome: Planned) -> Json:
    decision = outcome.decision
    return {
        **(_write_plan(decision.plan) if decision else {}),
        "already_public": decision.skipped if decision else 0,
        "unfinished": list(outcome.unfinished),
    }


def _write_opened(outcome: Opened) -> Json:
    return {
        "release": outcome.release,
        "commit": outcome.commit,
        "attempt": outcome.attempt,
        "changed": outcome.changed,
    }


def _write_uploaded(outcome: Uploaded) -> Json:
    return {
        "release": outcome.release,
        "role": outcome.role,
        "uploaded": list(outcome.uploaded),
        "skipped": list(outcome.skipped),
        "pruned": list(outcome.pruned),
        "missing": list(outcome.missing),
        "bytes": outcome.size,
        "handed_over": outcome.handed_over,
        "stale_hand_over": outcome.stale,
    }


def _write_held(outcome: Held) -> Json:
    return {"release": outcome.release, "role": outcome.role, "hold": outcome.reason}


def _write_fetched(outcome: Fetched) -> Json:
    return {
        "release": outcome.release,
        "folder": outcome.folder,
        "fetched": list(outcome.fetched),
        "skipped": list(outcome.skipped),
        "not_handed_over": list(outcome.pending),
        "not_listed": list(outcome.unlisted),
        "not_verified": list(outcome.unverified),
        "bytes": outcome.size,
    }


def _write_shared(outcome: Shared) -> Json:
    share = outcome.share
    return {
        "release": share.release,
        "role": share.role,
        "key": share.key,
        "digest": share.digest,
        "until": share.until.isoformat(),
        "session_until": share.session_until.isoformat() if share.session_until else None,
        "record": outcome.record,
        "url": outcome.url,
    }


def _write_waited(outcome: Waited) -> Json:
    return {
        "release": outcome.release,
        "live": outcome.live,
        "arrived": list(outcome.arrived),
        "waiting": dict(outcome.waiting),
        "waited_s": outcome.seconds,
    }


def _write_identities(identities: Iterable[Identity]) -> list[Json]:
    return [{"name": identity.name, "issuer": identity.issuer} for identity in identities]


def _write_signed(outcome: SignedReleases) -> Json:
    return {
        "releases": [
            {
                "release": found.release,
                "signed": list(found.signed),
                "already_signed": list(found.already),
                "waiting": list(found.waiting),
            }
            for found in outcome.releases
        ]
    }


def _write_verified(outcome: Verified) -> Json:
    return {
        "release": outcome.release,
        "public": outcome.public,
        "files": [{"key": file.key, "artifact": file.artifact, "by": file.by} for file in outcome.files],
        "identities": _write_identities(outcome.identities),
        "records": outcome.records,
        "withdrawn": list(outcome.gone),
        "refusals": [write_refusal(refusal) for refusal in outcome.refusals],
    }


def _write_sidecar(outcome: Attached | Amended) -> Json:
    return {
        "release": outcome.release,
        "key": outcome.key,
        "digest": outcome.digest,
        "changed": outcome.changed,
    }


def _write_listed(outcome: ListedRelease) -> Json:
    return {
        "release": outcome.release,
        "rows": outcome.rows,
        "changes": dict(outcome.changes),
        "dry_run": outcome.dry_run,
    }


def _write_announced(outcome: AnnouncedReleases) -> Json:
    return {"releases": list(outcome.releases), "urls": list(outcome.urls), "changed": outcome.changed}


def _write_drafted(outcome: Drafted) -> Json:
    return {"releases": list(outcome.releases), "path": outcome.path, "text": outcome.text}


def _write_indexed(outcome: Indexed) -> Json:
    return {"releases": list(outcome.releases), "written": list(outcome.written)}


def _write_script(outcome: Script) -> Json:
    return {"script": outcome.text}


def _write_reported(outcome: Reported) -> Json:
    return {
        "releases": [_write_release(release) for release in outcome.releases],
        "unknown": list(outcome.unknown),
        "lease": dict(outcome.lease) if outcome.lease else None,
    }


def _write_release(status: ReleaseStatus) -> Json:
    return {
        "release": status.release,
        "kind": status.kind,
        "stage": str(status.stage),
        "commit": status.commit,
        "attempt": status.attempt,
        "promotions": status.promotions,
        "promotion": status.promotion,
        "roles": [_write_role(role) for role in status.roles],
        "refusals": [write_refusal(refusal) for refusal in status.refusals],
        "streamed": list(status.streamed),
        "identities": _write_identities(status.identities),
        "pointers": dict(status.pointers),
    }


def _write_role(status: RoleStatus) -> Json:
    return {
        "role": status.role,
        "owner": status.owner,
        "handed_over": status.handed_over,
        "handed_over_at": status.handed_over_at.isoformat() if status.handed_over_at else None,
        "commit": status.commit,
        "hold": status.hold,
        "missing": list(status.missing),
        "next": status.advice,
        "artifacts": {key: str(standing) for key, standing in status.standing.items()},
    }


def _write_withdrawn(outcome: Withdrawn) -> Json:
    return {
        "release": outcome.release,
        "withdrawals": list(outcome.withdrawals),
        "keys": list(outcome.keys),
        "ended": list(outcome.ended),
        "unlist": outcome.unlist,
        "changed": outcome.changed,
    }


def _write_restored(outcome: Restored) -> Json:
    return {
        "release": outcome.release,
        "withdrawals": list(outcome.withdrawals),
        "keys": list(outcome.keys),
        "changed": outcome.changed,
    }


def _write_rebuilt(outcome: GateRebuilt) -> Json:
    return {
        "live": list(outcome.live),
        "planned": list(outcome.planned),
        "releases": list(outcome.releases),
        "withdrawn": list(outcome.withdrawn),
    }


def _write_fault(fault: Fault) -> Json:
    return {
        "weight": str(fault.weight),
        "rule": fault.rule,
        "subject": fault.subject,
        "found": fault.found,
        "expected": fault.expected,
        "next": fault.cure,
    }


def _write_audited(outcome: Audited) -> Json:
    return {
        "releases": list(outcome.releases),
        "faults": [_write_fault(fault) for fault in outcome.faults],
        "records": outcome.records,
        "files": outcome.files,
        "deep": outcome.deep,
    }


def _write_adopted(outcome: AdoptedTree) -> Json:
    return {
        "prefix": outcome.prefix,
        "files": list(outcome.files),
        "bytes": outcome.size,
        "bytes_read": outcome.streamed,
        "already": outcome.already,
        "aliases": list(outcome.aliases),
        "faults": [_write_fault(fault) for fault in outcome.faults],
        "dry_run": outcome.dry_run,
    }


def _write_declined(outcome: Declined) -> Json:
    return {"finished": list(outcome.finished)}


_WRITERS: Mapping[type[Outcome], tuple[str, Callable[[Any], Json]]] = {
    Refused: ("refused", _write_refused),
    Declined: ("declined", _write_declined),
    Promoted: ("promoted", _write_promoted),
    Planned: ("planned", _write_planned),
    Opened: ("opened", _write_opened),
    Uploaded: ("uploaded", _write_uploaded),
    Held: ("held", _write_held),
    Fetched: ("fetched", _write_fetched),
    Shared: ("shared", _write_shared),
    Waited: ("waited", _write_waited),
    SignedReleases: ("signed", _write_signed),
    Verified: ("verified", _write_verified),
    Attached: ("attached", _write_sidecar),
    Amended: ("amended", _write_sidecar),
    ListedRelease: ("listed", _write_listed),
    AnnouncedReleases: ("announced", _write_announced),
    Drafted: ("drafted", _write_drafted),
    Indexed: ("indexed", _write_indexed),
    Withdrawn: ("withdrawn", _write_withdrawn),
    Restored: ("restored", _write_restored),
    Reported: ("reported", _write_reported),
    Script: ("script", _write_script),
    Audited: ("audited", _write_audited),
    AdoptedTree: ("adopted", _write_adopted),
    GateRebuilt: ("rebuilt", _write_rebuilt),
}
