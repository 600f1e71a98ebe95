"""The release manager's other sidecars: attached before they are public, amended on record after."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from publisher.commands import sidecars, status, verify
from publisher.core.digests import Digest, display, of_bytes
from publisher.core.identity import Identity
from publisher.core.promotions import Amendment, AnyRecord
from publisher.core.status import Stage
from publisher.documents.statement import extract_payload, read_statement
from publisher.errors import (
    ConflictError,
    Exit,
    LeaseError,
    LoginError,
    PublisherError,
    StoreError,
    UnfinishedError,
    UsageError,
)
from publisher.outcomes import Amended, Attached, Outcome, Promoted, Refused, Reported, Verified
from publisher.workflow.lease import hold_lease
from tests.support.sigstore_fake import RM, FakeSigner, sign_openpgp
from tests.support.site import (
    FIRST_RECORD,
    KEY,
    PKG,
    RELEASE,
    TGZ,
    Site,
    a_signing_site,
    expected_public,
)

PREFIX = f"_rm/{RELEASE}/"
DIGESTS = expected_public()
TGZ_BYTES = b"first " + TGZ.encode()
ASC = f"{TGZ}.asc"
SBOM = f"{TGZ}.spdx.json"
SECOND_RECORD = FIRST_RECORD.replace("-1.json", "-2.json")
OTHER = Identity("other@example.org", RM.issuer)
OTHER_KEY = "F" * 40
REASON = "the licence was missing"


class CrashError(BaseException):
    """The process is gone."""


def an_sbom(name: str = "tool", digest: str = DIGESTS[TGZ]) -> bytes:
    package = {
        "name": TGZ.rpartition("/")[2],
        "SPDXID": "SPDXRef-Package",
        "checksums": [{"algorithm": "SHA256", "checksumValue": digest}],
    }
    head = {"spdxVersion": "SPDX-2.3", "SPDXID": "SPDXRef-DOCUMENT", "name": name}
    return json.dumps({**head, "packages": [package]}).encode()


OLD, NEW, NEWER = an_sbom(), an_sbom("tool, repaired"), an_sbom("tool, repaired again")


def save(folder: Path, key: str, data: bytes) -> str:
    path = folder / key.rpartition("/")[2]
    path.write_bytes(data)
    return str(path)


def staged(site: Site, key: str) -> bytes | None:
    found = site.s3.staging.current(f"{PREFIX}{key}")
    return found.data if found else None


def rules(outcome: Outcome) -> list[tuple[str, str]]:
    assert isinstance(outcome, Refused)
    assert outcome.status == Exit.REFUSED
    assert not outcome.waivable
    return [(refusal.rule, refusal.subject) for refusal in outcome.refusals]


# --- Before it is public ---------------------------------------------------------------------------------


def attach(site: Site, folder: Path, key: str, data: bytes) -> Outcome:
    return sidecars.run_attach(site.world(), RELEASE, save(folder, key, data))


def test_a_signature_by_a_pinned_key_is_staged_and_promoted(tmp_path: Path) -> None:
    site = a_signing_site()
    site.sign()
    data = sign_openpgp(KEY, TGZ_BYTES)

    outcome = attach(site, tmp_path, ASC, data)

    assert outcome == Attached(RELEASE, ASC, of_bytes(data), changed=True)
    assert staged(site, ASC) == data
    assert isinstance(site.promote(), Promoted)
    assert site.public()[ASC] == of_bytes(data)


def test_the_bytes_that_had_to_be_read_for_it_are_counted_once(tmp_path: Path) -> None:
    site = a_signing_site()
    site.sign()
    without = site.promote(dry_run=True)
    attach(site, tmp_path, ASC, sign_openpgp(KEY, TGZ_BYTES))
    reported = status.run(site.world(), (RELEASE,), check=False)

    outcome = site.promote()

    assert getattr(getattr(without, "decision", None), "streamed", None) == 0
    assert isinstance(reported, Reported)
    assert reported.releases[0].streamed == (TGZ,)
    assert isinstance(outcome, Promoted)
    assert outcome.streamed == len(TGZ_BYTES)


def test_an_artifact_is_downloaded_once_however_often_its_signature_is_asked_for(tmp_path: Path) -> None:
    site = a_signing_site()
    site.sign()
    attach(site, tmp_path, ASC, sign_openpgp(KEY, TGZ_BYTES))
    streams: list[str] = []
    site.s3.before = lambda request, key: streams.append(key) if request == "stream" else None

    site.promote()

    assert streams == [f"linux/{RELEASE}/{TGZ}"]


def test_the_same_again_writes_nothing(tmp_path: Path) -> None:
    site = a_signing_site()
    data = sign_openpgp(KEY, TGZ_BYTES)
    attach(site, tmp_path, ASC, data)
    site.s3.writes.clear()

    outcome = attach(site, tmp_path, ASC, data)

    assert outcome == Attached(RELEASE, ASC, of_bytes(data), changed=False)
    assert not any(name.startswith(f"staging/{PREFIX}") for _, name in site.s3.writes)


def test_another_one_replaces_it_until_it_is_public(tmp_path: Path) -> None:
    site = a_signing_site()
    site.s3.staging.store(f"{PREFIX}{ASC}", b"nonsense")

    assert attach(site, tmp_path, ASC, sign_openpgp(KEY, TGZ_BYTES)).status == Exit.DONE
    assert staged(site, ASC) == sign_openpgp(KEY, TGZ_BYTES)


@pytest.mark.parametrize(
    ("key", "signed", "found"),
    [
        (OTHER_KEY, TGZ_BYTES, f"a signature by {OTHER_KEY}"),
        (KEY, b"other bytes", "a signature of another file"),
        (KEY, b"first " + PKG.encode(), "a signature of another file"),
    ],
)
def test_a_signature_that_proves_nothing_is_refused(
    tmp_path: Path, key: str, signed: bytes, found: str
) -> None:
    site = a_signing_site()

    outcome = attach(site, tmp_path, ASC, sign_openpgp(key, signed))

    assert rules(outcome) == [("signature", ASC)]
    assert isinstance(outcome, Refused)
    assert outcome.refusals[0].found == found
    assert staged(site, ASC) is None


def test_a_bundle_made_elsewhere_can_be_attached_if_it_is_good(tmp_path: Path) -> None:
    site = a_signing_site()
    good = FakeSigner(site.sigstore, RM).sign(Digest(DIGESTS[TGZ]))
    bad = FakeSigner(site.sigstore, OTHER).sign(Digest(DIGESTS[TGZ]))

    assert rules(attach(site, tmp_path, f"{TGZ}.sigstore", bad)) == [("signature", f"{TGZ}.sigstore")]
    assert attach(site, tmp_path, f"{TGZ}.sigstore", good).status == Exit.DONE
    assert staged(site, f"{TGZ}.sigstore") == good


def test_a_sidecar_without_its_artifact_is_refused(tmp_path: Path) -> None:
    site = a_signing_site()
    site.s3.staging.expire(f"linux/{RELEASE}/")

    assert rules(attach(site, tmp_path, ASC, sign_openpgp(KEY, TGZ_BYTES))) == [("extra", ASC)]


def test_a_sidecar_of_an_artifact_that_is_public_already_can_still_be_attached(tmp_path: Path) -> None:
    site = a_public_site()
    site.s3.staging.expire(f"linux/{RELEASE}/")
    data = sign_openpgp(KEY, TGZ_BYTES)

    assert attach(site, tmp_path, ASC, data).status == Exit.DONE
    assert isinstance(site.promote(), Promoted)
    assert site.public()[ASC] == of_bytes(data)


def test_what_is_public_is_not_attached_again(tmp_path: Path) -> None:
    site = a_signing_site()
    site.sign()
    attach(site, tmp_path, ASC, sign_openpgp(KEY, TGZ_BYTES))
    site.promote()
    other = sign_openpgp(KEY, TGZ_BYTES) + b"\n"

    outcome = attach(site, tmp_path, ASC, other)

    assert rules(outcome) == [("public", ASC)]
    assert isinstance(outcome, Refused)
    assert outcome.refusals[0].cure == f"run: publisher amend {RELEASE} … --reason '…'"
    assert attach(site, tmp_path, ASC, sign_openpgp(KEY, TGZ_BYTES)).status == Exit.DONE


def run_attach(site: Site, path: str, release: str = RELEASE) -> Outcome:
    return sidecars.run_attach(site.world(), release, path)


def run_amend(site: Site, path: str, release: str = RELEASE) -> Outcome:
    return sidecars.run_amend(site.world(), release, path, REASON)


COMMANDS: dict[str, Callable[..., Outcome]] = {"attach": run_attach, "amend": run_amend}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("key", "said"),
    [
        (TGZ, "is an artifact"),
        (PKG, "is an artifact"),
        (f"{PKG}.asc", "expected the name of a sidecar of 1.2.3"),
        ("notes.txt", "expected the name of a sidecar of 1.2.3"),
        ("tool-1.2.4.tgz.asc", "expected the name of a sidecar of 1.2.3"),
        ("SHA256SUMS", "expected the name of a sidecar of 1.2.3"),
    ],
)
def test_what_is_no_sidecar_of_the_release_is_misuse(
    tmp_path: Path, command: str, key: str, said: str
) -> None:
    site = a_public_site()
    site.s3.writes.clear()

    with pytest.raises(UsageError, match=said) as caught:
        COMMANDS[command](site, save(tmp_path, key, b"x"))

    assert caught.value.exit_status == Exit.MISUSED
    assert caught.value.next_step
    assert site.s3.writes == []


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_cannot_be_read_is_misuse(tmp_path: Path, command: str) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        COMMANDS[command](a_public_site(), str(tmp_path / "tool-1.2.3.tgz.asc"))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_too_large_to_be_a_sidecar_is_misuse(
    tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sidecars, "MAX_BYTES", 10)
    site = a_public_site()

    with pytest.raises(UsageError, match="with 11 bytes, expected a sidecar"):
        COMMANDS[command](site, save(tmp_path, ASC, b"x" * 11))


def test_a_builders_own_sidecar_is_not_attached(tmp_path: Path) -> None:
    site = a_signing_site()

    with pytest.raises(UsageError, match=f"found {SBOM}, which linux delivers") as caught:
        attach(site, tmp_path, SBOM, NEW)
    assert caught.value.next_step.startswith("linux uploads it")


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_no_release_is_misuse(tmp_path: Path, command: str) -> None:
    with pytest.raises(UsageError, match="nonsense"):
        COMMANDS[command](a_public_site(), save(tmp_path, SBOM, NEW), "nonsense")


@pytest.mark.parametrize(("command", "key"), [("attach", ASC), ("amend", SBOM)])
def test_the_lease_of_another_run_is_respected(tmp_path: Path, command: str, key: str) -> None:
    site = a_public_site()
    data = sign_openpgp(KEY, TGZ_BYTES) if key == ASC else NEW
    before = site.public()

    with hold_lease(site.world("ann"), "promote 1.2.4"), pytest.raises(LeaseError, match="user/ann") as got:
        COMMANDS[command](site, save(tmp_path, key, data))

    assert got.value.exit_status == Exit.REFUSED
    assert site.public() == before
    assert staged(site, key) is None
    assert COMMANDS[command](site, save(tmp_path, key, data)).status == Exit.DONE


# --- After it is public ----------------------------------------------------------------------------------


def a_site_with_sbom() -> Site:
    site = a_signing_site()
    site.sign()
    site.stage("linux", {SBOM: OLD})
    site.hand_over("linux")
    return site


def a_public_site() -> Site:
    site = a_site_with_sbom()
    assert isinstance(site.promote(), Promoted)
    return site


def amend(site: Site, folder: Path, key: str = SBOM, data: bytes = NEW, reason: str = REASON) -> Outcome:
    return sidecars.run_amend(site.world(), RELEASE, save(folder, key, data), reason)


def read_records(site: Site) -> list[AnyRecord]:
    return [read_statement(extract_payload(data, name), name) for name, data in site.stored_records().items()]


def check_amended(site: Site, data: bytes = NEW, count: int = 2) -> None:
    """Check everything that has to be so once a sidecar is amended, and that nothing is left to do."""
    assert site.public() == {**DIGESTS, **site.public(), SBOM: of_bytes(data)}
    assert staged(site, SBOM) == data
    assert list(site.stored_records()) == [f"{RELEASE}/{number}" for number in range(1, count + 1)]
    assert site.public_records() == site.stored_records()
    assert set(site.s3.gate.entries) == {"owner"}
    assert len(site.state("/promotions/")) == 3 * len(site.state("/done.json"))
    seen = verify.run_public(site.world().visitor, RELEASE)
    assert isinstance(seen, Verified)
    assert (seen.status, seen.records) == (Exit.DONE, count)


def test_a_sidecar_is_amended_in_public_and_on_record(tmp_path: Path) -> None:
    site = a_public_site()
    signed = len(site.sigstore.signed)

    outcome = amend(site, tmp_path)

    assert outcome == Amended(RELEASE, SBOM, of_bytes(NEW), changed=True)
    check_amended(site)
    amendment = read_records(site)[-1]
    assert isinstance(amendment, Amendment)
    stored = site.s3.staging.current(f"{PREFIX}{SBOM}")
    assert stored is not None
    assert (amendment.release, amendment.number) == (RELEASE, 2)
    assert (amendment.key, amendment.artifact) == (SBOM, TGZ)
    assert (amendment.replaces, amendment.digest, amendment.size) == (of_bytes(OLD), of_bytes(NEW), len(NEW))
    assert (amendment.source.key, amendment.source.version_id) == (stored.key, stored.version_id)
    assert (amendment.reason, amendment.who) == (REASON, "arn:aws:iam::123456789012:user/rm")
    assert timedelta(0) <= site.s3.clock - amendment.when < timedelta(minutes=5)
    assert site.sigstore.signed[signed:] == ["statement"]


def test_it_is_staged_then_public_then_forgotten_then_looked_at_then_recorded(tmp_path: Path) -> None:
    site = a_public_site()
    there = site.s3.public.current(SBOM)
    assert there is not None
    wanted = {"put", "replace", "invalidate", "head", "get", "create", "sign"}
    seen: list[tuple[str, str]] = []

    def note(request: str, key: str) -> None:
        if request in wanted and not key.endswith("lease.json"):
            seen.append((request, key.removesuffix(f"-{'0' * 30}")))

    site.s3.before = note
    amend(site, tmp_path)

    steps = [request for request, _ in seen]
    assert steps[:3] == ["put", "replace", "invalidate"]
    assert steps[-3:] == ["sign", "create", "create"]
    assert {*steps[3:-3]} == {"head", "get"}, "the new bytes are downloaded and compared"
    assert [key for _, key in seen[:2]] == [f"{PREFIX}{SBOM}", SBOM]
    assert [key for _, key in seen[-2:]] == [f"_state/records/{RELEASE}/2.json", SECOND_RECORD]
    assert any(f"/{SBOM}" in paths for paths in site.s3.cdn.invalidated)
    found = site.s3.public.current(SBOM)
    assert found is not None
    assert found.delivery == there.delivery


def test_it_never_writes_into_a_builders_prefix_nor_over_another_public_key(tmp_path: Path) -> None:
    site = a_public_site()
    site.s3.writes.clear()

    amend(site, tmp_path)

    names = {name for _, name in site.s3.writes} - {"staging/_state/lease.json", "gate/owner"}
    assert names == {
        f"staging/{PREFIX}{SBOM}",
        f"public/{SBOM}",
        f"staging/_state/records/{RELEASE}/2.json",
        f"public/{SECOND_RECORD}",
    }


def test_a_release_with_an_amended_sidecar_is_done_though_its_builders_copy_is_the_old_one(
    tmp_path: Path,
) -> None:
    site = a_public_site()
    amend(site, tmp_path)
    builders = site.s3.staging.current(f"linux/{RELEASE}/{SBOM}")
    site.s3.writes.clear()

    outcome = site.promote()
    reported = status.run(site.world(), (RELEASE,), check=True)

    assert builders is not None
    assert builders.data == OLD
    assert isinstance(outcome, Promoted)
    assert (outcome.plan, outcome.status) == (None, Exit.DONE)
    assert isinstance(reported, Reported)
    assert (reported.status, reported.releases[0].stage) == (Exit.DONE, Stage.DONE)
    assert site.s3.writes == []


def test_a_late_file_after_an_amendment_is_promoted_and_the_amended_one_stays(tmp_path: Path) -> None:
    site = a_public_site()
    amend(site, tmp_path)
    attach(site, tmp_path, ASC, sign_openpgp(KEY, TGZ_BYTES))

    outcome = site.promote()

    assert isinstance(outcome, Promoted)
    assert outcome.plan is not None
    assert [file.key for file in outcome.plan.files] == [ASC]
    assert outcome.plan.releases[0].number == 3
    check_amended(site, count=3)


def test_what_was_never_public_is_no_old_form_of_an_amended_sidecar(tmp_path: Path) -> None:
    site = a_public_site()
    amend(site, tmp_path)
    site.stage("linux", {SBOM: an_sbom("somebody else's")})
    site.hand_over("linux")

    outcome = site.promote()

    assert isinstance(outcome, Refused)
    assert {(refusal.rule, refusal.subject) for refusal in outcome.refusals} == {("public", SBOM)}


def test_the_same_again_changes_nothing(tmp_path: Path) -> None:
    site = a_public_site()
    amend(site, tmp_path)
    signed = list(site.sigstore.signed)

    outcome = amend(site, tmp_path)

    assert outcome == Amended(RELEASE, SBOM, of_bytes(NEW), changed=False)
    check_amended(site)
    assert site.sigstore.signed == signed


def test_a_sidecar_can_be_amended_again_and_back(tmp_path: Path) -> None:
    site = a_public_site()
    for number, data in enumerate((NEW, NEWER, NEW, OLD), start=2):
        site.s3.tick(1)
        assert amend(site, tmp_path, data=data) == Amended(RELEASE, SBOM, of_bytes(data), changed=True)
        check_amended(site, data, number)
        assert isinstance(site.promote(), Promoted)


def test_a_bundle_is_amended_only_by_a_good_one(tmp_path: Path) -> None:
    site = a_public_site()
    key = f"{TGZ}.sigstore"
    signer = FakeSigner(site.sigstore, RM)

    bad = amend(site, tmp_path, key, signer.sign(Digest(DIGESTS[PKG])))
    good = amend(site, tmp_path, key, signer.sign(Digest(DIGESTS[TGZ])))

    assert rules(bad) == [("signature", key)]
    assert good.status == Exit.DONE


def test_what_is_staged_by_now_is_not_what_a_sidecar_is_about(tmp_path: Path) -> None:
    site = a_public_site()
    other = b"second " + TGZ.encode()
    site.stage("linux", {TGZ: other})

    refused = amend(site, tmp_path, data=an_sbom("repaired", of_bytes(other)))
    amended = amend(site, tmp_path)

    assert rules(refused) == [("sbom", SBOM)]
    assert amended.status == Exit.DONE


def test_a_sidecar_that_says_something_else_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    site = a_public_site()
    before = site.public()

    assert rules(amend(site, tmp_path, data=an_sbom("x", DIGESTS[PKG]))) == [("sbom", SBOM)]

    assert site.public() == before
    assert staged(site, SBOM) is None
    assert len(site.stored_records()) == 1


def test_a_sidecar_that_is_not_public_is_attached_and_not_amended(tmp_path: Path) -> None:
    site = a_public_site()

    outcome = amend(site, tmp_path, ASC, sign_openpgp(KEY, TGZ_BYTES))

    assert rules(outcome) == [("missing", ASC)]
    assert staged(site, ASC) is None


def test_what_is_public_otherwise_than_recorded_is_looked_into_first(tmp_path: Path) -> None:
    site = a_public_site()
    site.s3.public.store(SBOM, b"something else")

    outcome = amend(site, tmp_path)

    assert rules(outcome) == [("drift", SBOM)]
    assert isinstance(outcome, Refused)
    assert outcome.refusals[0].found == f"{display(of_bytes(b'something else'))} public"
    assert outcome.refusals[0].expected == f"{display(of_bytes(OLD))} by the record"
    assert staged(site, SBOM) is None


def test_a_sidecar_whose_store_holds_no_digest_of_it_is_read(tmp_path: Path) -> None:
    site = a_public_site()
    # Ops repaired the public key by an upload in parts.
    site.s3.public.store(SBOM, OLD, whole=False)

    assert amend(site, tmp_path).status == Exit.DONE

    check_amended(site)


@pytest.mark.parametrize("reason", ["", "  "])
def test_a_reason_is_asked_for(tmp_path: Path, reason: str) -> None:
    with pytest.raises(UsageError, match="empty reason"):
        amend(a_public_site(), tmp_path, reason=reason)


def test_whose_signature_would_not_count_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    site = a_public_site()
    site.s3.writes.clear()
    site.sigstore.login = OTHER

    assert rules(amend(site, tmp_path)) == [("identity", RELEASE)]
    assert site.s3.writes == []


def test_nobody_logged_in_amends_nothing(tmp_path: Path) -> None:
    site = a_public_site()
    site.s3.writes.clear()
    site.sigstore.login = None

    with pytest.raises(LoginError) as caught:
        amend(site, tmp_path)
    assert caught.value.exit_status == Exit.FAILED
    assert site.s3.writes == []


def test_an_amendment_is_unsigned_only_where_the_configuration_says_so(tmp_path: Path) -> None:
    site = a_public_site()
    site.signed_records = False
    logins = site.sigstore.logins

    assert amend(site, tmp_path).status == Exit.DONE

    assert site.sigstore.logins == logins
    assert site.observer.warnings[-1] == f"record 2 of {RELEASE} is not signed: publisher.toml says so"
    assert "dsseEnvelope" not in json.loads(site.stored_records()[f"{RELEASE}/2"])


def test_a_promotion_that_is_live_is_finished_first(tmp_path: Path) -> None:
    site = a_site_with_sbom()

    def die(request: str, key: str) -> None:
        if request == "place" and key == SBOM:
            site.s3.before = dead
            raise CrashError

    def dead(request: str, key: str) -> None:
        raise CrashError

    site.s3.before = die
    with pytest.raises(CrashError):
        site.promote()
    site.s3.before = lambda request, key: None
    site.s3.tick(121)
    assert site.state("/done.json") == []

    outcome = amend(site, tmp_path)

    assert outcome == Amended(RELEASE, SBOM, of_bytes(NEW), changed=True)
    assert len(site.state("/done.json")) == 1
    check_amended(site)


def count_requests(folder: Path) -> int:
    site = a_public_site()
    seen: list[str] = []
    site.s3.before = lambda request, key: seen.append(request)
    amend(site, folder)
    return len(seen)


def test_a_crash_before_any_request_is_finished_by_the_next_run(tmp_path: Path) -> None:
    requests = count_requests(tmp_path)
    assert requests > 50
    for number in range(requests):
        site = a_public_site()
        seen = 0

        def die(request: str, key: str, number: int = number) -> None:
            nonlocal seen
            seen += 1
            if seen > number:
                raise CrashError

        site.s3.before = die
        with pytest.raises(CrashError):
            amend(site, tmp_path)
        assert site.public()[SBOM] in {of_bytes(OLD), of_bytes(NEW)}
        assert staged(site, SBOM) == NEW or site.public()[SBOM] == of_bytes(OLD)
        site.s3.before = lambda request, key: None
        site.s3.tick(121)

        outcome = amend(site, tmp_path)

        assert outcome.status == Exit.DONE, f"after a crash before request {number}"
        check_amended(site)


def test_a_failing_request_gives_the_status_that_tells_whether_anything_is_public(tmp_path: Path) -> None:
    failed: list[tuple[str, str]] = []
    maybe: list[tuple[str, str]] = []
    for number in range(count_requests(tmp_path)):
        site = a_public_site()
        seen = 0

        def fail(request: str, key: str, number: int = number) -> None:
            nonlocal seen
            seen += 1
            if seen == number + 1:
                failed.append((request, key))
                raise StoreError("the line is dead")

        site.s3.before = fail
        try:
            status_ = amend(site, tmp_path).status
        except PublisherError as error:
            status_ = error.exit_status
        changed = site.public()[SBOM] == of_bytes(NEW)
        if status_ == Exit.UNFINISHED and not changed:
            maybe.append(failed[-1])
        else:
            assert changed == (status_ in {Exit.DONE, Exit.UNFINISHED}), f"request {number}"
        site.s3.before = lambda request, key: None
        site.s3.tick(121)
        assert amend(site, tmp_path).status == Exit.DONE
        check_amended(site)
    # A write without an answer may have been made; the lease is looked at just before.
    assert maybe == [("read", "_state/lease.json"), ("replace", SBOM)]


def test_a_conditional_write_whose_answer_was_lost_counts_as_written(tmp_path: Path) -> None:
    site = a_public_site()
    before = len(site.s3.writes)
    amend(site, tmp_path)
    conditional = {"create", "replace"}
    indices = [index for index, (request, _) in enumerate(site.s3.writes[before:]) if request in conditional]
    assert len(indices) > 4
    for index in indices:
        site = a_public_site()
        site.s3.lose_answer_of = len(site.s3.writes) + index

        assert amend(site, tmp_path).status == Exit.DONE
        check_amended(site)


def test_a_sidecar_that_somebody_else_writes_at_the_same_moment_is_not_overwritten(tmp_path: Path) -> None:
    site = a_public_site()

    def meddle(request: str, key: str) -> None:
        if request == "replace" and key == SBOM:
            site.s3.before = lambda request, key: None
            site.s3.public.store(SBOM, b"foreign")

    site.s3.before = meddle
    with pytest.raises(UnfinishedError) as caught:
        amend(site, tmp_path)

    assert isinstance(caught.value.__cause__, ConflictError)
    assert site.public()[SBOM] == of_bytes(b"foreign")
    assert len(site.stored_records()) == 1


def test_a_foreign_object_at_the_records_key_is_not_overwritten_and_an_operator_helps(tmp_path: Path) -> None:
    site = a_public_site()
    site.s3.public.store(SECOND_RECORD, b"foreign")

    with pytest.raises(UnfinishedError, match="expected the record that is stored") as caught:
        amend(site, tmp_path)

    assert caught.value.exit_status == Exit.UNFINISHED
    assert site.public_records()[f"{RELEASE}/2"] == b"foreign"
    site.s3.public.expire(SECOND_RECORD)
    assert amend(site, tmp_path).status == Exit.DONE
    check_amended(site)


def test_a_login_that_is_over_by_the_time_of_the_record_leaves_the_record_to_the_next_run(
    tmp_path: Path,
) -> None:
    site = a_public_site()

    def expire(request: str, key: str) -> None:
        if request == "sign":
            raise LoginError("the certificate is over")

    site.sigstore.before = expire
    with pytest.raises(UnfinishedError, match="the certificate is over"):
        amend(site, tmp_path)

    assert site.public()[SBOM] == of_bytes(NEW)
    assert len(site.stored_records()) == 1
    site.sigstore.before = lambda request, key: None
    assert amend(site, tmp_path).status == Exit.DONE
    check_amended(site)


def test_a_sidecar_that_caches_keep_for_a_year_is_not_amended(tmp_path: Path) -> None:
    site = a_public_site()
    site.profile_text = site.profile_text.replace(
        b'format = "spdx", class = "amendable"', b'format = "spdx", class = "immutable"'
    )

    outcome = amend(site, tmp_path)

    assert isinstance(outcome, Refused)
    assert [refusal.rule for refusal in outcome.refusals] == ["public"]
    assert "immutable" in outcome.refusals[0].found
