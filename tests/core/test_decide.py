"""The decision: what is planned, what is refused together, and what no set of deliveries can bring about."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from publisher.core.assess import assess_release
from publisher.core.contents import list_contents
from publisher.core.decide import (
    Decision,
    NothingToDo,
    Refused,
    next_number,
    plan_promotion,
    refuse_together,
)
from publisher.core.digests import of_bytes
from publisher.core.identity import Signed
from publisher.core.plan import Extras, Look, Plan, PlannedFile
from publisher.core.profile import RM, Need, Profile, PublicRecord, Row, Signal
from publisher.core.refusals import WAIVABLE, Refusal, apply_waivers
from publisher.core.snapshot import ReleaseSnapshot, RoleStaging, Snapshot, Unfinished
from publisher.core.sums import parse_sums
from tests.support.builders import (
    AN_AUTHOR,
    ARTIFACTS,
    BAD,
    BINARY,
    COMMIT,
    EXE,
    GOOD,
    HEAD,
    NOON,
    PDF,
    SBOM,
    SIG,
    SIGNER,
    TGZ,
    a_candidate,
    a_file,
    a_plan,
    a_profile,
    a_release,
    a_snapshot,
    a_state,
    a_stored,
    a_waiver,
    handed_over,
    staged,
)

SETUP = {EXE: "setup", SBOM: "sbom"}
ALL = {TGZ: "tool", **SETUP, SIG: "sig"}
PROMOTER = replace(SIGNER, name="promoter@example.org")
PROMOTER_TABLE = f"{{ name = '{PROMOTER.name}', issuer = '{PROMOTER.issuer}' }}"
RECORDED_HEAD = (
    HEAD.replace("[identity.series]", f"[identity]\nrecords = [{PROMOTER_TABLE}]\n\n[identity.series]")
    + '[record]\nkey = "{release}/record-{number}.json"\n'
)
RECORDED = a_profile(head=RECORDED_HEAD)
CHECKED_SBOM = a_profile(ARTIFACTS.replace('".sbom"', '".sbom", format = "spdx"'))
SELF_SIGNED = handed_over("source", {TGZ: "tool", SIG: "sig"})
SIGNED = replace(handed_over("windows", SETUP), signed=Signed(PROMOTER, b"signature\n", b"certificate\n"))
SIGNED_HAND_OVER = a_profile(
    head=HEAD.replace("[roles.windows]", f"[roles.windows]\nsigners = [{PROMOTER_TABLE}]")
)


def promote(
    snapshot: Snapshot, *waivers: str, profile: Profile | None = None
) -> Decision | NothingToDo | Refused:
    return plan_promotion(snapshot, profile or a_profile(), tuple(map(a_waiver, waivers)), AN_AUTHOR)


def decide(snapshot: Snapshot, *waivers: str, profile: Profile | None = None) -> Decision:
    decision = promote(snapshot, *waivers, profile=profile)
    assert isinstance(decision, Decision), decision
    return decision


def keys_of(decision: Decision) -> list[str]:
    return [file.key for file in decision.plan.files]


def refuse(snapshot: Snapshot, *waivers: str, profile: Profile | None = None) -> list[tuple[str, str]]:
    refused = promote(snapshot, *waivers, profile=profile)
    assert isinstance(refused, Refused), refused
    return [(refusal.rule, refusal.subject) for refusal in refused.refusals]


# --- The plan --------------------------------------------------------------------------------------------


def test_a_complete_release_is_planned_from_exactly_what_is_staged() -> None:
    decision = decide(a_snapshot(a_candidate()))
    setup = a_stored("setup", f"windows/1.2.0/{EXE}")

    assert keys_of(decision) == [TGZ, EXE, SBOM, SIG]
    assert decision.plan.files[1] == PlannedFile(
        key=EXE,
        release="1.2.0",
        role="windows",
        digest=setup.digest,
        size=5,
        source=setup.version,
        delivery=BINARY,
        sign=False,
        artifact=None,
        row=Row("Installer", "1-2-0-Installer", "windows", "", button=False),
    )
    assert [(file.sign, file.artifact) for file in decision.plan.files] == [
        (True, None),
        (False, None),
        (False, EXE),
        (False, TGZ),
    ]
    assert (decision.skipped, decision.streamed) == (0, 0)


def test_a_plan_names_its_author_its_releases_and_its_profile() -> None:
    plan = decide(a_snapshot(a_candidate())).plan

    assert (plan.schema, plan.id, plan.who, plan.when) == (1, "p1", "an ARN", NOON)
    assert [(r.name, r.commit, r.attempt, r.number) for r in plan.releases] == [("1.2.0", COMMIT, 1, 1)]
    assert (plan.profile, plan.profile_digest) == ("Tool", a_profile().digest)
    assert (plan.waivers, plan.waived) == ((), ())


def test_a_plan_looks_again_at_every_hand_over_commit_hold_and_the_state() -> None:
    qa = staged("qa", {}, hold=b"")

    assert decide(a_snapshot(a_candidate(qa=qa))).plan.looks == (
        Look("_state/releases/1.2.0.json", "state-1"),
        Look("qa/1.2.0/SHA256SUMS", None),
        Look("qa/1.2.0/COMMIT", None),
        Look("_hold/qa/1.2.0", "hold-1"),
        Look("source/1.2.0/SHA256SUMS", "sums-1"),
        Look("source/1.2.0/COMMIT", "commit-1"),
        Look("_hold/source/1.2.0", None),
        Look("windows/1.2.0/SHA256SUMS", "sums-1"),
        Look("windows/1.2.0/COMMIT", "commit-1"),
        Look("_hold/windows/1.2.0", None),
    )


def test_several_releases_are_one_plan() -> None:
    plan = decide(a_snapshot(a_candidate("1.2.0"), a_candidate("1.2.1"))).plan

    assert [release.name for release in plan.releases] == ["1.2.0", "1.2.1"]
    assert {file.release for file in plan.files} == {"1.2.0", "1.2.1"}
    assert {look.key for look in plan.looks} >= {"_hold/qa/1.2.0", "_hold/qa/1.2.1"}


def test_a_second_attempt_of_a_project_without_commits_is_in_the_plan() -> None:
    profile = a_profile(head=HEAD.replace("commit = true", ""))
    candidate = a_candidate(state=a_state(None, attempt=2))

    (release,) = decide(a_snapshot(candidate), profile=profile).plan.releases

    assert (release.name, release.commit, release.attempt, release.number) == ("1.2.0", None, 2, 1)


def test_bytes_that_had_to_be_read_are_counted() -> None:
    source = handed_over("source", {TGZ: "tool"})
    read = {key: replace(stored, streamed=True) for key, stored in source.objects.items()}

    assert decide(a_snapshot(a_candidate(source=replace(source, objects=read)))).streamed == 4


# --- What is public already ------------------------------------------------------------------------------


def test_a_file_that_is_public_already_is_skipped() -> None:
    decision = decide(a_snapshot(a_candidate(), public={TGZ: "tool"}))

    assert keys_of(decision) == [EXE, SBOM, SIG]
    assert decision.skipped == 1


def test_a_file_of_a_live_promotion_counts_as_public() -> None:
    live = Unfinished(a_plan(a_file(TGZ, "tool"), releases=("1.2.9",)), live=True)

    assert keys_of(decide(a_snapshot(a_candidate(), unfinished=(live,)))) == [EXE, SBOM, SIG]


def test_a_file_of_a_promotion_that_is_only_planned_is_planned_again() -> None:
    planned = Unfinished(a_plan(a_file(TGZ, "tool")), live=False)

    assert keys_of(decide(a_snapshot(a_candidate(), unfinished=(planned,)))) == [TGZ, EXE, SBOM, SIG]


def test_late_files_of_a_promoted_release_are_its_next_promotion() -> None:
    late = a_candidate(numbers=(1, 2), source=handed_over("source", {PDF: "guide"}), windows=RoleStaging({}))
    decision = decide(a_snapshot(late, public=ALL))

    assert keys_of(decision) == [PDF]
    assert [release.number for release in decision.plan.releases] == [3]


def test_a_live_promotion_takes_a_number_of_its_releases() -> None:
    live = (
        Unfinished(a_plan(a_file(TGZ, "tool")), live=True),
        Unfinished(a_plan(a_file("1.2.1/x"), name="p2", releases=("1.2.1",)), live=True),
    )

    plan = decide(a_snapshot(a_candidate(), unfinished=live)).plan

    assert [release.number for release in plan.releases] == [2]


def test_a_late_file_that_differs_from_the_public_one_is_refused_for_good() -> None:
    late = a_candidate(numbers=(1,), source=handed_over("source", {TGZ: "second"}))

    assert refuse(a_snapshot(late, public=ALL)) == [("public", TGZ)]
    assert refuse(a_snapshot(late, public=ALL), f"public:{TGZ}")[0] == ("public", TGZ)


def test_a_release_of_which_everything_is_public_has_nothing_to_do() -> None:
    assert promote(a_snapshot(a_candidate(), public=ALL)) == NothingToDo(4)


@pytest.mark.parametrize(
    ("candidate", "public"),
    [
        (a_candidate(numbers=(1,)), 4),
        (a_candidate(numbers=(1,), source=RoleStaging({}), windows=RoleStaging({}), rm={}), 0),
        (a_candidate(numbers=(1,), qa=staged("qa", {}, hold=b"too late")), 4),
        (a_candidate(numbers=(1,), state=None), 4),
    ],
    ids=["all staged", "staging expired", "held since", "state lost"],
)
def test_a_settled_release_has_nothing_to_do_whatever_else_has_changed(
    candidate: ReleaseSnapshot, public: int
) -> None:
    world = a_snapshot(candidate, public={**ALL}, provisioned=(), today=date(2040, 1, 1))

    assert promote(world, "missing:*") == NothingToDo(public)


def test_a_settled_release_beside_a_new_one_is_left_alone() -> None:
    done = a_candidate("1.2.0", numbers=(1,), qa=staged("qa", {}, hold=b"too late"))
    decision = decide(a_snapshot(done, a_candidate("1.2.1"), public=ALL))

    assert decision.plan.names() == {"1.2.1"}
    assert decision.skipped == 4


def test_an_extra_file_keeps_a_promoted_release_from_being_settled() -> None:
    late = a_candidate(numbers=(1,), source=staged("source", {"x": "x"}))

    assert refuse(a_snapshot(late, public=ALL)) == [("extra", "x")]
    assert promote(a_snapshot(late, public=ALL), "extra:x") == NothingToDo(3)


def test_a_release_of_which_nothing_gets_public_has_no_part_in_the_plan() -> None:
    empty = a_candidate("1.2.1", source=RoleStaging({}), windows=RoleStaging({}), rm={})
    plan = decide(a_snapshot(a_candidate(), empty), "missing:*/1.2.1").plan

    assert plan.names() == {"1.2.0"}
    assert not [look for look in plan.looks if "1.2.1" in look.key]


# --- Waivers ---------------------------------------------------------------------------------------------


def test_waiving_a_missing_hand_over_publishes_nothing_of_that_role() -> None:
    world = a_snapshot(a_candidate(source=staged("source", {TGZ: "tool"}), rm={SIG: "signature"}))
    decision = decide(world, "missing:source/1.2.0")

    assert keys_of(decision) == [EXE, SBOM]
    assert [refusal.subject for refusal in decision.plan.waived] == ["source/1.2.0"]
    assert [waiver.reason for waiver in decision.plan.waivers] == ["known and accepted"]


def test_waiving_a_missing_file_publishes_the_others() -> None:
    world = a_snapshot(a_candidate(windows=handed_over("windows", {EXE: "setup"})))

    assert keys_of(decide(world, f"missing:{SBOM}")) == [TGZ, EXE, SIG]


@pytest.mark.parametrize("listed", [{TGZ: "tool"}, {TGZ: "tool", "x": "x"}])
def test_waiving_an_extra_file_leaves_it_out(listed: Mapping[str, str]) -> None:
    source = handed_over("source", {TGZ: "tool", "x": "x"}, listed=listed)

    assert keys_of(decide(a_snapshot(a_candidate(source=source)), "extra:x")) == [TGZ, EXE, SBOM, SIG]


def test_waiving_a_sidecar_without_its_artifact_leaves_it_out() -> None:
    world = a_snapshot(a_candidate(windows=handed_over("windows", {SBOM: "sbom"})))

    assert keys_of(decide(world, f"extra:{SBOM}", f"missing:{EXE}")) == [TGZ, SIG]


def test_waiving_a_hold_publishes_what_was_held() -> None:
    world = a_snapshot(a_candidate(qa=staged("qa", {}, hold=b"no")))
    decision = decide(world, "hold:qa/1.2.0")

    assert keys_of(decision) == [TGZ, EXE, SBOM, SIG]
    assert decision.plan.waived[0].found == "a hold by qa: no"


@pytest.mark.parametrize(
    ("candidate", "public", "name"),
    [
        (a_candidate(source=handed_over("source", {TGZ: "a"}, listed={TGZ: "b"})), {}, f"digest:{TGZ}"),
        (a_candidate(source=handed_over("source", {TGZ: "a", EXE: "b"})), {}, f"role:{EXE}"),
        (a_candidate(source=handed_over("source", {TGZ: "a"}, commit="d")), {}, "commit:source/1.2.0"),
        (a_candidate(state=a_state(void={"source": "sums-1"})), {}, "attempt:source/1.2.0"),
        (a_candidate(), {TGZ: "first"}, f"public:{TGZ}"),
        (a_candidate(source=staged("source", {TGZ: "a"})), {TGZ: "first"}, f"public:{TGZ}"),
        (a_candidate(state=None), {}, "not-open:1.2.0"),
        (a_candidate(rm={}), {}, f"signature:{SIG}"),
        (a_candidate(checked={SIG: BAD}), {}, f"signature:{SIG}"),
        (a_candidate(source=SELF_SIGNED, rm={}, checked={SIG: BAD}), {}, f"signature:{SIG}"),
        (replace(a_candidate(), checked={}), {}, f"signature:{SIG}"),
    ],
    ids=[
        "digest",
        "role",
        "commit",
        "attempt",
        "public",
        "public, not handed over",
        "not open",
        "unsigned",
        "signed badly",
        "signed badly by its builder",
        "signature not checked",
    ],
)
def test_a_refusal_for_good_stands_whatever_is_waived(
    candidate: ReleaseSnapshot, public: Mapping[str, str], name: str
) -> None:
    rule, _, subject = name.partition(":")
    world = a_snapshot(candidate, public=public)

    assert (rule, subject) in refuse(world)
    assert (rule, subject) in refuse(world, name, "missing:*", "extra:*", "hold:*")


@pytest.mark.parametrize(
    ("profile", "name", "cure"),
    [
        (CHECKED_SBOM, f"sbom:{SBOM}", {"checked": {SIG: GOOD, SBOM: GOOD}}),
        (
            SIGNED_HAND_OVER,
            "signature:windows/1.2.0/SHA256SUMS.sigstore",
            {"roles": {**a_candidate().roles, "windows": SIGNED}},
        ),
    ],
    ids=["SBOM", "hand-over"],
)
def test_what_a_profile_asks_to_be_checked_is_refused_for_good_until_it_is_good(
    profile: Profile, name: str, cure: Mapping[str, Any]
) -> None:
    rule, _, subject = name.partition(":")
    candidate = a_candidate()

    assert refuse(a_snapshot(candidate), profile=profile) == [(rule, subject)]
    assert (rule, subject) in refuse(a_snapshot(candidate), name, "missing:*", "extra:*", profile=profile)
    assert keys_of(decide(a_snapshot(replace(candidate, **cure)), profile=profile)) == [TGZ, EXE, SBOM, SIG]


def test_a_bundle_of_the_builders_is_published_from_its_prefix() -> None:
    decision = decide(a_snapshot(a_candidate(source=SELF_SIGNED, rm={})))

    assert keys_of(decision) == [TGZ, SIG, EXE, SBOM]
    assert (decision.plan.files[1].role, decision.plan.files[1].artifact) == ("source", TGZ)
    assert decision.plan.files[1].source.key == f"source/1.2.0/{SIG}"


def test_two_bundles_of_one_artifact_are_never_both_published() -> None:
    world = a_snapshot(a_candidate(source=SELF_SIGNED))

    assert refuse(world) == [("signature", SIG)]
    assert refuse(world, "extra:*", f"signature:{SIG}")[0] == ("signature", SIG)


def test_a_waiver_of_nothing_is_refused() -> None:
    assert refuse(a_snapshot(a_candidate()), "hold:qa/1.2.0") == [("idle-waiver", "hold:qa/1.2.0")]


def test_every_refusal_is_reported_at_once() -> None:
    world = a_snapshot(
        a_candidate(
            source=handed_over("source", {TGZ: "a", "x": "x"}, listed={TGZ: "b", "x": "x"}),
            windows=RoleStaging({}),
            qa=staged("qa", {}, hold=b"no"),
        ),
        a_candidate("1.2.1", state=None),
        provisioned=["source", "windows"],
    )

    assert refuse(world, "extra:y") == [
        ("hold", "qa/1.2.0"),
        ("extra", "x"),
        ("digest", TGZ),
        ("missing", "windows/1.2.0"),
        ("not-open", "1.2.1"),
        ("provision", "qa"),
        ("idle-waiver", "extra:y"),
    ]


# --- Series, roles ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "today", "rules"),
    [
        ("1.2.0", date(2029, 12, 31), ["series"]),
        ("1.2.0", date(2030, 1, 1), []),
        ("1.2.0", date(2030, 12, 31), []),
        ("1.2.0", date(2031, 1, 1), ["series"]),
        ("1.1.0", date(2030, 1, 1), ["series", "identity"]),
        ("1.3.0", date(2030, 1, 1), ["series", "identity"]),
    ],
    ids=["too early", "first day", "last day", "too late", "end of life", "unknown"],
)
def test_a_release_is_refused_where_its_series_does_not_hold_today(
    name: str, today: date, rules: list[str]
) -> None:
    world = a_snapshot(a_candidate(name), today=today)

    assert isinstance(promote(world), Refused) is bool(rules)
    if rules:
        assert refuse(world) == [(rule, name) for rule in rules]


def test_a_lost_gate_is_refused_for_good_and_says_how_to_rebuild_it() -> None:
    lost = replace(a_snapshot(a_candidate()), gate_lost=True)
    decision = promote(lost, "gate:*")

    assert refuse(lost) == [("gate", "the gate's store")]
    assert isinstance(decision, Refused)
    assert "publisher gate rebuild" in decision.refusals[0].cure
    assert ("gate", "the gate's store") in refuse(lost, "gate:*")
    assert refuse_together(replace(lost, gate_lost=False), a_profile(), []) == ()


def test_a_lost_gate_concerns_no_release_that_has_nothing_to_do() -> None:
    done = replace(a_snapshot(a_candidate(numbers=(1,)), public=ALL), gate_lost=True)

    assert promote(done) == NothingToDo(4)


@pytest.mark.parametrize(
    ("provisioned", "there"), [(["source", "windows"], "source, windows"), ([], "none yet")]
)
def test_a_role_without_credentials_is_refused(provisioned: list[str], there: str) -> None:
    refusals = refuse_together(a_snapshot(a_candidate(), provisioned=provisioned), a_profile(), [])

    assert refusals[-1] == Refusal(
        "provision",
        "qa",
        "a role of the profile without credentials",
        f"one of the stack's: {there}",
        "ops adds the role to the stack and runs: pulumi up",
    )


# --- Keys ------------------------------------------------------------------------------------------------

RENAME = "correct the key's template in the profile, then stage the file under its new key"


def refuse_key(world: Snapshot, profile: Profile | None = None) -> Refusal:
    refused = promote(world, profile=profile)
    assert isinstance(refused, Refused), refused
    (refusal,) = refused.refusals
    return refusal


@pytest.mark.parametrize("name", ["1.2.0/TOOL.tgz", "1.2.0/Tool.tgz/a", "1.2.0", "1.2.0/tool.TGZ"])
def test_a_key_that_cannot_stand_beside_a_public_one_is_refused(name: str) -> None:
    refused = refuse(a_snapshot(a_candidate(), names=[name]))

    assert {rule for rule, _ in refused} == {"key"}
    assert ("key", TGZ) in refused


def test_a_conflict_is_refused_with_the_key_that_is_in_the_way() -> None:
    assert refuse_key(a_snapshot(a_candidate(), names=["1.2.0/TOOL.tgz"])) == Refusal(
        "key",
        TGZ,
        "1.2.0/TOOL.tgz: they differ only in the case of letters",
        "keys that can stand beside each other",
        RENAME,
    )


def test_a_conflict_with_a_file_of_a_live_promotion_is_refused() -> None:
    live = Unfinished(a_plan(a_file("1.2.0/Tool.tgz"), releases=("1.2.9",)), live=True)

    assert refuse_key(a_snapshot(a_candidate(), unfinished=(live,))).subject == TGZ


def test_other_public_files_beside_the_new_ones_do_not_matter() -> None:
    assert keys_of(decide(a_snapshot(a_candidate(), names=["1.2.0/old.tgz", "1.2.0.txt"])))


def test_conflicts_among_public_files_do_not_stop_what_comes_late() -> None:
    late = a_candidate(source=handed_over("source", {TGZ: "tool", PDF: "guide"}))
    world = a_snapshot(late, public=ALL, names=["1.2.0/TOOL.tgz"])

    assert keys_of(decide(world)) == [PDF]


SHARED = a_profile(ARTIFACTS.replace('key = "{release}/guide.pdf"', 'key = "guide.pdf"'))


def a_guided(name: str, data: str = "guide") -> ReleaseSnapshot:
    source = handed_over("source", {f"{name}/tool.tgz": "tool", "guide.pdf": data})
    return a_candidate(name, source=source, profile=SHARED)


def test_a_key_that_two_releases_claim_is_refused() -> None:
    world = a_snapshot(a_guided("1.2.0"), a_guided("1.2.1"))

    assert refuse_key(world, SHARED) == Refusal(
        "key",
        "guide.pdf",
        "it in 1.2.0 and 1.2.1",
        "each key in one release",
        "promote one of them; in the profile, put {release} into the key's template",
    )


def test_a_key_that_two_releases_share_is_no_matter_once_it_is_public() -> None:
    world = a_snapshot(a_guided("1.2.0"), a_guided("1.2.1"), public={"guide.pdf": "guide"})

    assert "guide.pdf" not in keys_of(decide(world, profile=SHARED))


def test_a_key_that_a_version_makes_unfit_for_a_url_is_refused() -> None:
    profile = a_profile(ARTIFACTS.replace("{release}/guide.pdf", "{release}/{release}.pdf"))
    name = "1.2." + "0" * 240
    key = f"{name}/{name}.pdf"
    source = handed_over("source", {f"{name}/tool.tgz": "tool", key: "guide"})
    world = a_snapshot(a_candidate(name, source=source, profile=profile))

    assert refuse_key(world, profile) == Refusal(
        "key", key, "it has 493 bytes, 480 are allowed", "a key that may be public", RENAME
    )


NESTED = a_profile(head=HEAD + '[record]\nkey = "{release}/records/{release}/{number}.json"\n')


def test_a_record_whose_key_a_version_makes_unfit_for_a_url_is_refused() -> None:
    name = "1.2." + "0" * 240
    world = a_snapshot(a_candidate(name))

    assert refuse_key(world, NESTED) == Refusal(
        "key",
        f"{name}/records/{name}/1.json",
        "it has 504 bytes, 480 are allowed",
        "a key that may be public",
        RENAME,
    )
    assert isinstance(promote(world), Decision)
    assert isinstance(promote(a_snapshot(a_candidate()), profile=NESTED), Decision)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("1.2.0/RECORDS/1.2.0/1.JSON", "they differ only in the case of letters"),
        ("1.2.0/records", "one is a folder of the other"),
        ("1.2.0/records/1.2.0/1.json/x", "one is a folder of the other"),
    ],
)
def test_a_record_that_cannot_stand_beside_a_public_file_is_refused(name: str, why: str) -> None:
    refusal = refuse_key(a_snapshot(a_candidate(), names=[name]), NESTED)

    assert (refusal.rule, refusal.subject) == ("key", "1.2.0/records/1.2.0/1.json")
    assert refusal.found == f"{name}: {why}"
    assert keys_of(decide(a_snapshot(a_candidate(), names=["1.2.0/other"]), profile=NESTED))
    assert keys_of(decide(a_snapshot(a_candidate(), names=[name])))


def test_a_record_that_cannot_stand_beside_a_file_of_its_own_release_is_refused() -> None:
    artifacts = ARTIFACTS.replace("{release}/guide.pdf", "{release}/Record-1.json")
    clash = a_profile(artifacts, RECORDED_HEAD)
    source = handed_over("source", {TGZ: "tool", "1.2.0/Record-1.json": "guide"})
    world = a_snapshot(a_candidate(source=source, profile=clash))

    assert refuse(world, profile=clash) == [("key", "1.2.0/Record-1.json"), ("key", "1.2.0/record-1.json")]
    assert keys_of(decide(a_snapshot(a_candidate(profile=clash)), profile=clash))


# --- What else is asked for ------------------------------------------------------------------------------

LISTED = a_profile(
    head=HEAD
    + """
[listing]
release_name = "Tool {release}"
release_slug = "tool-{release}"
systems = { windows = "Windows" }

[[outside]]
name = "tag"
url = "https://git.example.org/v{release}"

[[outside]]
name = "docs"
url = "https://docs.example.org/{release}/"
kinds = "final"
"""
)


def test_a_plan_says_what_a_release_may_contain_how_it_is_listed_and_what_has_to_be_there_first() -> None:
    beta = a_candidate("1.2.0b1", source=handed_over("source", {"1.2.0b1/tool.tgz": "tool"}), profile=LISTED)
    plan = decide(a_snapshot(a_candidate(profile=LISTED), beta), profile=LISTED).plan
    tags = [Signal("tag", f"https://git.example.org/v{name}") for name in ("1.2.0", "1.2.0b1")]

    assert [release.contents for release in plan.releases] == [
        list_contents(LISTED, a_release(name, LISTED)) for name in ("1.2.0", "1.2.0b1")
    ]
    assert LISTED.listing is not None
    assert [release.listing for release in plan.releases] == [LISTED.listing] * 2
    assert [release.signals for release in plan.releases] == [
        (tags[0], Signal("docs", "https://docs.example.org/1.2.0/")),
        (tags[1],),
    ]


def test_a_release_that_is_listed_nowhere_and_waits_for_nothing_says_so() -> None:
    (release,) = decide(a_snapshot(a_candidate())).plan.releases

    assert (release.listing, release.signals) == (None, ())
    assert release.contents == list_contents(a_profile(), a_release())


@pytest.mark.parametrize("extras", [Extras(), Extras("Enjoy!", create_release=True)])
def test_a_plan_says_what_its_author_asked_for(extras: Extras) -> None:
    author = replace(AN_AUTHOR, extras=extras)
    decision = plan_promotion(a_snapshot(a_candidate()), a_profile(), (), author)

    assert isinstance(decision, Decision)
    assert decision.plan.extras == extras
    assert decide(a_snapshot(a_candidate())).plan.extras == Extras()


# --- Identities, records ---------------------------------------------------------------------------------


def test_a_plan_says_whose_signatures_count_who_may_record_it_and_where() -> None:
    plan = decide(a_snapshot(a_candidate(numbers=(1,))), profile=RECORDED).plan

    (release,) = plan.releases
    assert (release.name, release.number) == ("1.2.0", 2)
    assert (release.identities, release.recorders) == ((SIGNER,), (SIGNER, PROMOTER))
    assert release.record == PublicRecord("1.2.0/record-2.json", BINARY)


def test_a_plan_without_public_records_says_so() -> None:
    plan = decide(a_snapshot(a_candidate())).plan

    (release,) = plan.releases
    assert (release.identities, release.recorders, release.record) == ((SIGNER,), (SIGNER,), None)


def test_a_release_that_nobody_may_sign_is_refused_though_it_is_signed() -> None:
    nobody = a_profile(head=HEAD.replace('"1.2" = [{', '"1.1" = [{'))
    world = a_snapshot(a_candidate())

    assert refuse(world, profile=nobody) == [("identity", "1.2.0")]
    assert ("identity", "1.2.0") in refuse(world, "missing:*", "identity:*", profile=nobody)
    assert keys_of(decide(world)) == [TGZ, EXE, SBOM, SIG]


def test_a_release_whose_record_nobody_may_sign_is_refused_unless_records_are_unsigned() -> None:
    nobody = a_profile(ARTIFACTS.replace("sign = true\n", ""), HEAD[: HEAD.index("[identity.")])
    world = a_snapshot(a_candidate(rm={}))

    assert refuse(replace(world, signed_records=True), profile=nobody) == [("identity", "1.2.0")]
    assert keys_of(decide(replace(world, signed_records=False), profile=nobody)) == [TGZ, EXE, SBOM]
    assert decide(replace(a_snapshot(a_candidate()), signed_records=True))


@pytest.mark.parametrize(
    ("numbers", "live", "number"),
    [
        ((), (), 1),
        ((1, 2), (), 3),
        ((1, 5), (), 6),
        ((), (1,), 2),
        ((1, 2), (3,), 4),
        ((1, 2, 3), (3,), 4),
        ((1,), (3, 2), 4),
    ],
)
def test_the_next_record_has_a_number_that_neither_a_record_nor_a_live_promotion_has(
    numbers: tuple[int, ...], live: tuple[int, ...], number: int
) -> None:
    candidate = a_candidate(numbers=numbers)
    others = (
        Unfinished(number_plan(7, release="1.2.9"), live=True),
        Unfinished(number_plan(8), live=False),
    )
    world = a_snapshot(
        candidate, unfinished=(*(Unfinished(number_plan(n), live=True) for n in live), *others)
    )

    assert next_number(candidate, world) == number


def number_plan(number: int, release: str = "1.2.0") -> Plan:
    plan = a_plan(a_file(f"{release}/other-{number}"), name=f"p{number}", releases=(release,))
    return replace(plan, releases=tuple(replace(planned, number=number) for planned in plan.releases))


@pytest.mark.parametrize(
    ("numbers", "name", "refused"),
    [
        ((), "1.2.0/record-1.json", True),
        ((), "1.2.0/record-2.json", False),
        ((1,), "1.2.0/record-1.json", False),
        ((1,), "1.2.0/record-2.json", True),
        ((), "1.2.1/record-1.json", False),
    ],
)
def test_a_release_whose_record_would_find_its_key_taken_is_refused(
    numbers: tuple[int, ...], name: str, refused: bool
) -> None:
    world = a_snapshot(a_candidate(numbers=numbers), names=[name])

    assert isinstance(promote(world, profile=RECORDED), Refused) is refused
    if refused:
        assert refuse_key(world, RECORDED) == Refusal(
            "key",
            name,
            "a file there already, or one of the release",
            "no object at the key of the record",
            "correct [record] of the profile, or ops looks whose object it is",
        )
    assert isinstance(promote(world), Decision)


def test_a_record_cannot_have_the_key_of_a_file_of_its_release() -> None:
    clash = a_profile(head=RECORDED_HEAD, artifacts=ARTIFACTS.replace("guide.pdf", "record-2.json"))

    assert keys_of(decide(a_snapshot(a_candidate()), profile=clash))
    assert refuse(a_snapshot(a_candidate(numbers=(1,))), profile=clash) == [("key", "1.2.0/record-2.json")]


# --- Amended sidecars ------------------------------------------------------------------------------------


def test_an_amended_release_has_nothing_to_do_and_may_get_late_files() -> None:
    public = {**ALL, SBOM: "repaired"}
    amended = replace(a_candidate(numbers=(1, 2)), amended={SBOM: frozenset({of_bytes(b"sbom")})})
    late = {"source": handed_over("source", {TGZ: "tool", PDF: "guide"}), "windows": amended.roles["windows"]}
    decision = decide(a_snapshot(replace(amended, roles=late), public=public))

    assert promote(a_snapshot(amended, public=public)) == NothingToDo(4)
    assert keys_of(decision) == [PDF]
    assert [release.number for release in decision.plan.releases] == [3]
    assert refuse(a_snapshot(replace(amended, amended={}), public=public)) == [("public", SBOM)]


# --- Whatever is delivered -------------------------------------------------------------------------------

NAMES = [TGZ, PDF, EXE, SBOM, SIG, "1.2.0/stray"]
FLAWS = ["less", "more", "changed", "other list", "no hand-over", "no commit", "other commit", "hold"]
DATA = st.sampled_from(["good", "bad"])
FILES = st.dictionaries(st.sampled_from(NAMES), DATA, max_size=2)
WAIVERS = st.sets(st.sampled_from(["missing:*", "extra:*", "hold:*", f"missing:{EXE}"]), max_size=3)


def deliver(role: str, own: list[str], flaws: list[str], some: Mapping[str, str]) -> RoleStaging:
    """Hand over a role's own files, with flaws that `some` files lend themselves to."""
    files = dict.fromkeys(own, "good")
    if "less" in flaws:
        files = {key: data for key, data in files.items() if key not in some}
    if "more" in flaws:
        files |= some
    listed = files
    if "changed" in flaws:
        files = {key: some.get(key, data) for key, data in files.items()}
    if "other list" in flaws:
        listed = some
    hold = b"no" if "hold" in flaws else None
    if "no hand-over" in flaws:
        return staged(role, files, hold)
    commit = "d" * 40 if "other commit" in flaws else COMMIT
    return handed_over(role, files, listed=listed, commit=None if "no commit" in flaws else commit, hold=hold)


@st.composite
def worlds(draw: st.DrawFn) -> Snapshot:
    """Make a world that could be promoted but for up to three flaws, wherever they are."""
    places = st.sampled_from(
        ["source", "windows", "qa", "rm", "void", "not open", "done", "public", "signature"]
    )
    flaws: dict[str, list[str]] = {}
    for place in draw(st.lists(places, max_size=3)):
        flaws.setdefault(place, []).append(draw(st.sampled_from(FLAWS)))
    own = {"source": [TGZ, PDF], "windows": [EXE, SBOM]}
    roles = {
        role: deliver(role, own[role], flaws.get(role, []), draw(FILES) if role in flaws else {})
        for role in own
    }
    candidate = a_candidate(
        source=roles["source"],
        windows=roles["windows"],
        qa=staged("qa", draw(FILES)) if "qa" in flaws else None,
        rm=draw(FILES) if "rm" in flaws else {SIG: "good"},
        state=None if "not open" in flaws else a_state(void={"windows": "sums-1"} if "void" in flaws else {}),
        numbers=(1,) if "done" in flaws else (),
        checked={SIG: BAD} if "signature" in flaws else {},
    )
    return a_snapshot(candidate, public=draw(FILES) if "public" in flaws else {})


@given(worlds(), WAIVERS)
def test_nothing_is_planned_while_a_refusal_stands(world: Snapshot, names: set[str]) -> None:
    decision = promote(world, *sorted(names))
    event(type(decision).__name__)
    assessment = assess_release(world.releases[0], a_profile(), world.published())
    refusals = (*assessment.all_refusals(), *refuse_together(world, a_profile(), [assessment]))
    standing, waived = apply_waivers(refusals, map(a_waiver, sorted(names)))

    assert promote(world, *sorted(names)) == decision
    if isinstance(decision, Decision):
        assert standing == ()
        assert decision.plan.waived == waived
        assert {refusal.rule for refusal in waived} <= WAIVABLE
    if isinstance(decision, Refused):
        assert decision.refusals == standing
        assert standing != ()
        assert all(r.subject and r.found and r.expected and r.cure for r in standing)


@given(worlds(), WAIVERS)
def test_a_planned_file_is_new_expected_staged_and_vouched_for(world: Snapshot, names: set[str]) -> None:
    decision = promote(world, *sorted(names))
    if not isinstance(decision, Decision):
        return
    (candidate,) = world.releases
    expected = a_profile().expect(candidate.release)

    assert decision.plan.files
    for file in decision.plan.files:
        objects = candidate.rm if file.role == RM else candidate.roles[file.role].objects
        assert (file.digest, file.source) == (objects[file.key].digest, objects[file.key].version)
        assert file.key not in world.public
        assert expected[file.key].is_from(file.role)
        assert expected[file.key].need is not Need.FORBIDDEN
        assert file.role == RM or _is_vouched_for(file, candidate.roles[file.role])


@given(worlds(), WAIVERS)
def test_nothing_that_is_to_be_signed_is_planned_without_a_good_signature(
    world: Snapshot, names: set[str]
) -> None:
    decision = promote(world, *sorted(names))
    if not isinstance(decision, Decision):
        return
    (candidate,) = world.releases
    planned = [file.key for file in decision.plan.files]

    assert len(set(planned)) == len(planned)
    assert TGZ not in planned or SIG in planned or SIG in world.public
    assert SIG not in planned or candidate.checked[SIG].problem is None


def _is_vouched_for(file: PlannedFile, staging: RoleStaging) -> bool:
    assert staging.sums is not None
    assert staging.commit is not None
    listed = parse_sums(staging.sums.data)
    assert not isinstance(listed, tuple)
    return listed[file.key] == file.digest and staging.commit.data.decode() == COMMIT


@given(worlds(), WAIVERS)
def test_once_a_plan_is_done_and_nothing_else_is_staged_there_is_nothing_to_do(
    world: Snapshot, names: set[str]
) -> None:
    decision = promote(world, *sorted(names))
    if not isinstance(decision, Decision):
        return
    (candidate,) = world.releases
    public = {**world.public, **{file.key: file.digest for file in decision.plan.files}}
    done = replace(world, releases=(replace(candidate, numbers=(*candidate.numbers, 2)),), public=public)
    objects = [staging.objects for staging in candidate.roles.values()] + [candidate.rm]
    left = [key for staging in objects for key in staging if key not in public]
    again = promote(done, *sorted(names))

    assert isinstance(again, NothingToDo | Refused)
    assert isinstance(again, NothingToDo) or left


@given(worlds())
def test_a_promoted_release_with_only_public_files_staged_is_never_touched(world: Snapshot) -> None:
    (candidate,) = world.releases
    objects = [*(staging.objects for staging in candidate.roles.values()), candidate.rm]
    public = {key: stored.digest for files in objects for key, stored in files.items()}
    assume(all(public[key] == stored.digest for files in objects for key, stored in files.items()))
    done = replace(world, releases=(replace(candidate, numbers=(1,)),), public=public)

    assert isinstance(promote(done), NothingToDo)
