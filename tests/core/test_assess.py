"""The rules for one release: each with a case that passes and one that is refused."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from publisher.core.assess import Assessment, assess_release, is_settled, read_hold, refuse_unopened
from publisher.core.delivery import MAX_COPY_BYTES, Standing
from publisher.core.digests import display, of_bytes
from publisher.core.identity import Rejected, Signed
from publisher.core.profile import RM, Profile
from publisher.core.refusals import WAIVABLE, Refusal
from publisher.core.signing import Checked
from publisher.core.snapshot import ReleaseSnapshot, RoleStaging, SmallObject
from tests.support.builders import (
    ARTIFACTS,
    BAD,
    COMMIT,
    EXE,
    GOOD,
    HEAD,
    PDF,
    SBOM,
    SIG,
    SIGNER,
    TGZ,
    a_candidate,
    a_profile,
    a_state,
    handed_over,
    stage,
    staged,
)

SETUP = {EXE: "setup", SBOM: "sbom"}
BOTH = {TGZ: "tool", **SETUP}
ALL = {**BOTH, SIG: "sig"}
LATE = {TGZ: "tool", SIG: "sig", PDF: "guide"}
NO_COMMIT = a_profile(head=HEAD.replace("commit = true", "commit = false"))
ASC = a_profile(ARTIFACTS.replace("sign = true", "sign = true\nsidecars = [{ suffix = '.asc', by = 'rm' }]"))
PGP = f"{TGZ}.asc"
OPENPGP = "{ suffix = '.asc', format = 'openpgp' }"
KEYED = HEAD + "[openpgp]\nkeys = 'keys.asc'\n"
BY_BUILDER = a_profile(ARTIFACTS.replace("sign = true", f"sign = true\nsidecars = [{OPENPGP}]"), KEYED)
BY_RM = a_profile(
    ARTIFACTS.replace("sign = true", f"sign = true\nsidecars = [{OPENPGP[:-1]}, by = 'rm' }}]"), KEYED
)
CHECKED_SBOM = a_profile(ARTIFACTS.replace('".sbom"', '".sbom", format = "spdx"'))
SIGNED_HAND_OVER = a_profile(
    head=HEAD.replace(
        "[roles.windows]", f"[roles.windows]\nsigners = [{{ name = 'ci', issuer = '{SIGNER.issuer}' }}]"
    )
)
GOOD_HAND_OVER = Signed(SIGNER, b"signature\n", b"certificate\n")


def assess(
    candidate: ReleaseSnapshot, public: Mapping[str, str] | None = None, profile: Profile | None = None
) -> Assessment:
    published = {key: of_bytes(data.encode()) for key, data in (public or {}).items()}
    assessment = assess_release(candidate, profile or a_profile(), published)
    for refusal in assessment.all_refusals():
        assert all([refusal.rule, refusal.subject, refusal.found, refusal.expected, refusal.cure]), refusal
    return assessment


def refuse(
    candidate: ReleaseSnapshot, public: Mapping[str, str] | None = None, profile: Profile | None = None
) -> list[tuple[str, str]]:
    return [(r.rule, r.subject) for r in assess(candidate, public, profile).all_refusals()]


def refuse_one(
    candidate: ReleaseSnapshot, public: Mapping[str, str] | None = None, profile: Profile | None = None
) -> Refusal:
    (refusal,) = assess(candidate, public, profile).all_refusals()
    return refusal


def deliver(candidate: ReleaseSnapshot, public: Mapping[str, str] | None = None) -> list[str]:
    return [item.expected.key for item in assess(candidate, public).delivered()]


def show(data: str) -> str:
    return display(of_bytes(data.encode()))


# --- A release as a whole --------------------------------------------------------------------------------


def test_a_complete_release_is_delivered_without_a_refusal() -> None:
    assessment = assess(a_candidate(rm={SIG: "signature"}))

    assert assessment.all_refusals() == ()
    assert [(item.expected.key, item.stored.digest) for item in assessment.delivered()] == [
        (TGZ, of_bytes(b"tool")),
        (EXE, of_bytes(b"setup")),
        (SBOM, of_bytes(b"sbom")),
        (SIG, of_bytes(b"signature")),
    ]
    assert assessment.roles["source"].commit == COMMIT


def test_a_release_that_was_never_opened_is_refused() -> None:
    assert refuse_one(a_candidate(state=None)) == refuse_unopened("1.2.0", commit=True)
    assert refuse_unopened("1.2.0", commit=True).cure.endswith("run: publisher open 1.2.0 --commit SHA")
    assert refuse_unopened("1.2.0", commit=False).cure.endswith("run: publisher open 1.2.0")


# --- Hold ------------------------------------------------------------------------------------------------


def test_a_lifted_hold_is_none() -> None:
    assert refuse(a_candidate(qa=staged("qa", {}, hold=b""))) == []


def test_a_hold_by_a_tester_is_refused_with_its_reason() -> None:
    assert refuse_one(a_candidate(qa=staged("qa", {}, hold=b"The installer\ncrashes.\n"))) == Refusal(
        "hold",
        "qa/1.2.0",
        "a hold by qa: The installer crashes.",
        "no hold",
        "cure what it says; then qa runs: publisher unhold 1.2.0 --role qa",
    )


def test_a_role_that_delivers_may_hold_what_it_handed_over() -> None:
    windows = handed_over("windows", SETUP, hold=b"wrong icon")

    assert refuse(a_candidate(windows=windows)) == [("hold", "windows/1.2.0")]
    assert deliver(a_candidate(windows=windows)) == [TGZ, EXE, SBOM, SIG]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", None),
        (b"\n", "(no reason given)"),
        (b" \t\0", "(no reason given)"),
        (b"\x1b[2Jno\r\nway\xff", "[2Jno way\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_a_hold_is_anything_but_an_empty_object_and_its_reason_one_plain_line(
    data: bytes, reason: str | None
) -> None:
    assert read_hold(RoleStaging({}, hold=SmallObject("hold-1", data))) == reason


def test_no_hold_object_and_no_staging_are_no_hold() -> None:
    assert read_hold(RoleStaging({})) is None
    assert read_hold(None) is None


# --- Missing ---------------------------------------------------------------------------------------------


def test_a_required_file_that_was_not_handed_over_is_missing() -> None:
    windows = handed_over("windows", {})
    refusal = refuse_one(a_candidate(windows=windows))

    assert refusal == Refusal(
        "missing",
        EXE,
        "nothing from windows",
        "it in staging or public",
        "windows uploads it and hands over again",
    )


def test_a_required_sidecar_is_missing_where_its_artifact_is_there() -> None:
    assert refuse(a_candidate(windows=handed_over("windows", {EXE: "setup"}))) == [("missing", SBOM)]


def test_an_optional_file_may_be_there_or_not() -> None:
    source = handed_over("source", {TGZ: "tool", PDF: "guide"})

    assert refuse(a_candidate()) == []
    assert refuse(a_candidate(source=source)) == []
    assert PDF in deliver(a_candidate(source=source))


def test_a_required_file_that_is_public_is_not_missing_though_its_staged_copy_expired() -> None:
    windows = handed_over("windows", {}, listed={})

    assert refuse(a_candidate(windows=windows), public=SETUP) == []


def test_a_role_of_which_everything_is_public_needs_no_hand_over_any_more() -> None:
    expired = a_candidate(source=RoleStaging({}), windows=RoleStaging({}))
    unlisted = a_candidate(windows=staged("windows", SETUP))

    assert refuse(expired, public=ALL) == []
    assert refuse(unlisted, public=ALL) == []
    # The release manager's copies do not expire; who plans leaves out what is public.
    assert deliver(expired, public=ALL) == [SIG]
    assert deliver(replace(expired, rm={}), public=ALL) == []


def test_a_role_without_a_hand_over_is_missing_and_delivers_nothing() -> None:
    candidate = a_candidate(windows=staged("windows", SETUP))

    assert refuse_one(candidate) == Refusal(
        "missing",
        "windows/1.2.0",
        "no SHA256SUMS; files staged: 2, required and missing: 0",
        "the hand-over of a complete set",
        "windows runs: publisher upload 1.2.0 … --complete",
    )
    assert deliver(candidate) == [TGZ, SIG]


def test_a_role_that_staged_nothing_is_missing_as_a_whole() -> None:
    assert refuse_one(a_candidate(windows=RoleStaging({}))).found == (
        "no SHA256SUMS; files staged: 0, required and missing: 1"
    )


def test_a_role_that_this_release_needs_nothing_of_may_stay_away() -> None:
    optional = a_profile(ARTIFACTS.replace('role = "windows"', 'role = "windows"\noptional = "all"'))

    assert refuse(a_candidate(windows=RoleStaging({})), profile=optional) == []


def test_roles_that_the_snapshot_does_not_know_count_as_having_staged_nothing() -> None:
    assert refuse(replace(a_candidate(rm={}), roles={})) == [
        ("missing", "source/1.2.0"),
        ("missing", "windows/1.2.0"),
    ]


# --- Extra, forbidden, of another role -------------------------------------------------------------------


def test_a_name_that_the_profile_does_not_know_is_extra_and_left_out() -> None:
    candidate = a_candidate(source=handed_over("source", {TGZ: "tool", "1.2.0/notes.txt": "notes"}))

    assert refuse_one(candidate) == Refusal(
        "extra",
        "1.2.0/notes.txt",
        "source/1.2.0/1.2.0/notes.txt, a name the profile does not know",
        "no such file",
        "source removes it: aws s3 rm s3://<staging>/source/1.2.0/1.2.0/notes.txt; then it hands over again",
    )
    assert deliver(candidate) == [TGZ, EXE, SBOM, SIG]


@pytest.mark.parametrize("listed", [{TGZ: "tool"}, {TGZ: "tool", "x": "x"}])
def test_an_extra_file_is_one_refusal_handed_over_or_not(listed: Mapping[str, str]) -> None:
    source = handed_over("source", {TGZ: "tool", "x": "x"}, listed=listed)

    assert refuse(a_candidate(source=source)) == [("extra", "x")]


def test_the_bytes_of_an_extra_file_must_be_those_handed_over_all_the_same() -> None:
    source = handed_over("source", {TGZ: "tool", "x": "x"}, listed={TGZ: "tool", "x": "other"})

    assert refuse(a_candidate(source=source)) == [("extra", "x"), ("digest", "x")]


def test_a_file_that_this_kind_of_release_must_not_have_is_extra() -> None:
    name = "1.2.0b1"
    files = {f"{name}/tool.tgz": "tool", f"{name}/guide.pdf": "guide"}
    candidate = a_candidate(name, source=handed_over("source", files))
    refusal = refuse_one(candidate)

    assert (refusal.rule, refusal.subject) == ("extra", f"{name}/guide.pdf")
    assert refusal.expected == "no such file in a release of this kind"
    assert f"{name}/guide.pdf" not in deliver(candidate)


@pytest.mark.parametrize(
    ("role", "key", "owner"), [("source", EXE, "windows"), ("windows", SIG, "the release manager")]
)
def test_a_file_that_another_delivers_is_refused_for_good(role: str, key: str, owner: str) -> None:
    own = {"source": {TGZ: "tool"}, "windows": SETUP}
    files = {
        name: handed_over(name, {**own[name], **({key: "forged"} if name == role else {})}) for name in own
    }
    candidate = a_candidate(source=files["source"], windows=files["windows"])
    refusal = refuse_one(candidate)

    assert (refusal.rule, refusal.subject) == ("role", key)
    assert refusal.rule not in WAIVABLE
    assert (refusal.found, refusal.expected) == (f"{role}/1.2.0/{key}", f"it from {owner}")
    assert of_bytes(b"forged") not in {item.stored.digest for item in assess(candidate).delivered()}


def test_a_sidecar_without_its_artifact_is_extra() -> None:
    candidate = a_candidate(windows=handed_over("windows", {SBOM: "sbom"}))

    assert refuse(candidate) == [("extra", SBOM), ("missing", EXE)]
    extra = assess(candidate).all_refusals()[0]
    assert extra.expected == f"{EXE} beside it"
    assert extra.cure.startswith("windows uploads that one too and hands over again, or windows removes it:")
    assert deliver(candidate) == [TGZ, SIG]


def test_a_sidecar_of_a_public_artifact_may_come_late() -> None:
    candidate = a_candidate(windows=handed_over("windows", {SBOM: "sbom"}))

    assert refuse(candidate, public={EXE: "setup"}) == []
    assert deliver(candidate, public={EXE: "setup"}) == [TGZ, SBOM, SIG]


@pytest.mark.parametrize(("key", "rule"), [(TGZ, "role"), ("1.2.0/screenshot.png", "extra")])
def test_what_a_tester_stages_is_refused_and_never_delivered(key: str, rule: str) -> None:
    candidate = a_candidate(qa=staged("qa", {key: "by qa"}))
    refusal = refuse_one(candidate)

    assert (refusal.rule, refusal.subject) == (rule, key)
    assert refusal.cure == f"qa removes it: aws s3 rm s3://<staging>/qa/1.2.0/{key}"
    assert deliver(candidate) == [TGZ, EXE, SBOM, SIG]


def test_a_tester_has_nothing_to_hand_over_and_what_it_writes_as_one_does_not_count() -> None:
    candidate = a_candidate(qa=handed_over("qa", {}, listed={TGZ: "other"}, commit="d" * 40))

    assert refuse(candidate) == []
    assert not assess(candidate).roles["qa"].handed_over


# --- Hand-over -------------------------------------------------------------------------------------------


def test_a_staged_file_that_is_not_handed_over_is_refused() -> None:
    windows = handed_over("windows", SETUP, listed={EXE: "setup"})

    assert refuse_one(a_candidate(windows=windows)) == Refusal(
        "hand-over",
        SBOM,
        "it staged, but not in windows/1.2.0/SHA256SUMS",
        "it in both",
        "windows hands over again with it listed, or removes it",
    )


def test_a_file_that_is_handed_over_and_not_staged_is_refused() -> None:
    source = handed_over("source", {TGZ: "tool"}, listed={TGZ: "tool", PDF: "guide"})

    assert refuse_one(a_candidate(source=source)) == Refusal(
        "hand-over",
        PDF,
        "it in source/1.2.0/SHA256SUMS only",
        "it staged too",
        "source uploads it, or hands over again without it",
    )


def test_a_handed_over_file_whose_staged_copy_expired_is_fine_where_it_is_public_with_that_digest() -> None:
    source = handed_over("source", {PDF: "guide"}, listed={TGZ: "tool", PDF: "guide"})

    assert refuse(a_candidate(source=source), public={TGZ: "tool"}) == []


def test_a_handed_over_file_whose_staged_copy_is_gone_is_refused_where_it_is_public_with_another() -> None:
    source = handed_over("source", {PDF: "guide"}, listed={TGZ: "new", PDF: "guide"})

    assert refuse_one(a_candidate(source=source), public={TGZ: "tool"}) == Refusal(
        "public",
        TGZ,
        f"{show('new')} in source/1.2.0/SHA256SUMS",
        f"{show('tool')}, which is public already",
        "a public file never changes: source hands over again without it",
    )


def test_bytes_other_than_those_handed_over_are_refused_for_good() -> None:
    source = handed_over("source", {TGZ: "damaged"}, listed={TGZ: "tool"})
    refusal = refuse_one(a_candidate(source=source))

    assert refusal == Refusal(
        "digest",
        TGZ,
        f"{show('damaged')} staged",
        f"{show('tool')} as in source/1.2.0/SHA256SUMS",
        "source uploads the file and hands over again",
    )
    assert refusal.rule not in WAIVABLE


def test_every_problem_of_a_hand_over_is_refused_with_its_line() -> None:
    source = replace(handed_over("source", {TGZ: "tool"}), sums=SmallObject("sums-1", b"what?\nis this\n"))
    refusals = assess(a_candidate(source=source)).all_refusals()

    assert [(r.rule, r.subject, r.found) for r in refusals] == [
        ("hand-over", "source/1.2.0/SHA256SUMS:1", "'what?'"),
        ("hand-over", "source/1.2.0/SHA256SUMS:2", "'is this'"),
    ]
    assert refusals[0].cure == "make the file with sha256sum"


def test_a_commit_file_that_is_not_handed_over_is_refused() -> None:
    unlisted = replace(
        handed_over("source", {TGZ: "tool"}, commit=None), commit=SmallObject("c", COMMIT.encode())
    )

    assert refuse(a_candidate(source=unlisted)) == [("hand-over", "COMMIT")]


def test_a_commit_file_of_other_bytes_than_handed_over_is_refused() -> None:
    changed = replace(
        handed_over("source", {TGZ: "tool"}, commit="d" * 40), commit=SmallObject("c", COMMIT.encode())
    )

    assert refuse(a_candidate(source=changed)) == [("digest", "COMMIT")]


# --- Commit and attempt ----------------------------------------------------------------------------------


def test_a_hand_over_of_another_commit_is_refused_for_good() -> None:
    other = handed_over("windows", SETUP, commit="d" * 40)
    refusal = refuse_one(a_candidate(windows=other, state=a_state(COMMIT, attempt=2)))

    assert refusal == Refusal(
        "commit",
        "windows/1.2.0",
        f"commit {'d' * 40}",
        f"commit {COMMIT} (attempt 2)",
        f"windows builds {COMMIT} and hands over again",
    )
    assert refusal.rule not in WAIVABLE


def test_files_whose_hand_over_is_of_another_commit_are_staged_and_not_ready() -> None:
    late = a_candidate(windows=handed_over("windows", SETUP, commit="d" * 40))

    assert set(assess(late).roles["windows"].standing.values()) == {Standing.STAGED}
    assert set(assess(a_candidate()).roles["windows"].standing.values()) == {Standing.READY}


def test_the_case_of_a_commit_does_not_matter() -> None:
    assert refuse(a_candidate(windows=handed_over("windows", SETUP, commit=COMMIT.upper()))) == []


@pytest.mark.parametrize("commit", [None, "", "two\nlines"])
def test_a_hand_over_without_a_commit_of_one_line_is_refused(commit: str | None) -> None:
    refusal = refuse_one(a_candidate(windows=handed_over("windows", SETUP, commit=commit)))

    assert (refusal.rule, refusal.found) == ("commit", "no COMMIT of one line")


def test_a_project_without_commits_needs_none() -> None:
    candidate = a_candidate(
        source=handed_over("source", {TGZ: "tool"}, commit=None),
        windows=handed_over("windows", SETUP),
        state=a_state(None),
    )

    assert refuse(candidate, profile=NO_COMMIT) == []
    assert refuse(replace(candidate, state=a_state(COMMIT)), profile=NO_COMMIT) == []


def test_a_commit_that_nobody_asked_for_must_still_be_the_right_one() -> None:
    candidate = a_candidate(windows=handed_over("windows", SETUP, commit="d" * 40))

    assert refuse(candidate, profile=NO_COMMIT) == [("commit", "windows/1.2.0")]


@pytest.mark.parametrize("commit", [None, "d" * 40])
def test_a_release_that_is_open_at_no_commit_cannot_be_of_any(commit: str | None) -> None:
    candidate = a_candidate(windows=handed_over("windows", SETUP, commit=commit), state=a_state(None))
    refusal = assess(candidate).roles["windows"].refusals[0]

    assert (refusal.rule, refusal.expected, refusal.cure) == (
        "commit",
        "the commit that the release is open at; it is open at none",
        "run: publisher respin 1.2.0 --commit SHA --reason …",
    )


def test_a_hand_over_from_before_a_respin_at_the_same_commit_is_refused_for_good() -> None:
    candidate = a_candidate(state=a_state(COMMIT, attempt=2, void={"windows": "sums-1"}))
    refusal = refuse_one(candidate)

    assert refusal == Refusal(
        "attempt",
        "windows/1.2.0",
        "a hand-over from before the re-spin",
        "one for attempt 2",
        "windows builds again and hands over again",
    )
    assert refusal.rule not in WAIVABLE


def test_a_hand_over_from_after_a_respin_counts() -> None:
    assert refuse(a_candidate(state=a_state(COMMIT, attempt=2, void={"windows": "sums-0"}))) == []


def test_a_release_that_is_not_open_has_no_attempt_to_miss() -> None:
    candidate = a_candidate(windows=handed_over("windows", SETUP, commit="d" * 40), state=None)

    assert refuse(candidate) == [("not-open", "1.2.0")]


# --- Public, size ----------------------------------------------------------------------------------------


def test_a_staged_file_that_is_public_with_the_same_bytes_is_fine() -> None:
    assert refuse(a_candidate(), public=ALL) == []


def test_a_staged_file_that_differs_from_the_public_one_is_refused_for_good() -> None:
    refusal = refuse_one(a_candidate(), public={TGZ: "first"})

    assert refusal == Refusal(
        "public",
        TGZ,
        f"{show('tool')} staged",
        f"{show('first')}, which is public already",
        "a public file never changes: restore the staged file, or make a new release",
    )
    assert refusal.rule not in WAIVABLE


def test_a_difference_from_a_public_file_is_refused_without_a_hand_over_too() -> None:
    candidate = a_candidate(windows=staged("windows", {EXE: "new"}))

    assert refuse(candidate, public={EXE: "setup", SBOM: "sbom"}) == [
        ("public", EXE),
        ("missing", "windows/1.2.0"),
    ]


@pytest.mark.parametrize(("size", "refused"), [(MAX_COPY_BYTES, False), (MAX_COPY_BYTES + 1, True)])
def test_a_file_too_large_to_be_copied_whole_is_refused(size: int, refused: bool) -> None:
    source = handed_over("source", {TGZ: "tool"})
    objects = {key: replace(stored, size=size) for key, stored in source.objects.items()}
    refusals = assess(a_candidate(source=replace(source, objects=objects))).all_refusals()

    assert [(r.rule, r.subject, r.found, r.expected) for r in refusals] == (
        [("size", TGZ, "5,368,709,121 bytes", "at most 5,368,709,120")] if refused else []
    )


# --- The release manager's sidecars ----------------------------------------------------------------------


def test_a_required_sidecar_of_the_release_managers_is_missing_until_it_is_there() -> None:
    asc = f"{TGZ}.asc"

    assert refuse_one(a_candidate(), profile=ASC) == Refusal(
        "missing",
        asc,
        "nothing from the release manager",
        "it in staging or public",
        f"the release manager puts it at _rm/1.2.0/{asc}",
    )
    assert refuse(a_candidate(rm={SIG: "sig", asc: "pgp"}), profile=ASC) == []
    assert refuse(a_candidate(), public={asc: "pgp"}, profile=ASC) == []


def test_a_sidecar_is_not_owed_for_an_artifact_that_is_missing_itself() -> None:
    candidate = a_candidate(source=RoleStaging({}), rm={})

    assert refuse(candidate, profile=ASC) == [("missing", "source/1.2.0")]


def test_a_sidecar_of_the_release_managers_waits_for_the_hand_over_of_its_artifact() -> None:
    candidate = a_candidate(source=staged("source", {TGZ: "tool"}), rm={SIG: "signature"})
    assessment = assess(candidate)

    assert refuse(candidate) == [("missing", "source/1.2.0")]
    assert deliver(candidate) == [EXE, SBOM]
    assert assessment.roles[RM].standing == {SIG: Standing.STAGED}


def test_a_sidecar_without_any_artifact_is_extra() -> None:
    refusal = assess(a_candidate(source=RoleStaging({}), rm={SIG: "signature"})).roles[RM].refusals

    assert refusal == (
        Refusal(
            "extra",
            SIG,
            f"_rm/1.2.0/{SIG} without the file it is about",
            f"{TGZ} staged or public",
            f"wait for that file, or ops removes _rm/1.2.0/{SIG}",
        ),
    )


def test_a_sidecar_of_a_public_artifact_may_be_added_by_the_release_manager() -> None:
    candidate = a_candidate(source=RoleStaging({}), rm={SIG: "signature"})

    assert refuse(candidate, public={TGZ: "tool"}) == []
    assert SIG in deliver(candidate, public={TGZ: "tool"})


def test_an_unknown_file_among_the_sidecars_is_extra() -> None:
    assert refuse_one(a_candidate(rm={SIG: "sig", "1.2.0/notes.txt": "notes"})) == Refusal(
        "extra",
        "1.2.0/notes.txt",
        "_rm/1.2.0/1.2.0/notes.txt",
        "sidecars of this release's artifacts only",
        "ops removes _rm/1.2.0/1.2.0/notes.txt",
    )


def test_a_sidecar_of_a_forbidden_file_is_extra() -> None:
    signed = a_profile(ARTIFACTS.replace('optional = "final"', 'optional = "final"\nsign = true'))
    key = "1.2.0b1/guide.pdf.sig"
    candidate = a_candidate("1.2.0b1", rm={"1.2.0b1/tool.tgz.sig": "sig", key: "signature"})

    assert refuse(candidate, profile=signed) == [("extra", key)]


@pytest.mark.parametrize("key", [TGZ, SBOM])
def test_the_release_manager_delivers_sidecars_only(key: str) -> None:
    refusal = refuse_one(a_candidate(rm={SIG: "sig", key: "by the release manager"}))

    assert (refusal.rule, refusal.subject) == ("role", key)
    assert refusal.expected == f"it from {'source' if key == TGZ else 'windows'}"


@pytest.mark.parametrize("source", [handed_over("source", {TGZ: "tool"}), staged("source", {TGZ: "tool"})])
def test_a_sidecar_that_differs_from_the_public_one_is_refused(source: RoleStaging) -> None:
    candidate = a_candidate(source=source, rm={SIG: "second"})

    assert ("public", SIG) in refuse(candidate, public={SIG: "first"})


def test_a_sidecar_too_large_to_be_copied_whole_is_refused() -> None:
    candidate = a_candidate(rm={SIG: "signature"})
    rm = {key: replace(stored, size=MAX_COPY_BYTES + 1) for key, stored in candidate.rm.items()}

    assert refuse(replace(candidate, rm=rm)) == [("size", SIG)]


# --- Signatures ------------------------------------------------------------------------------------------


def test_an_artifact_to_be_signed_is_refused_for_good_until_its_signature_is_staged_or_public() -> None:
    refusal = refuse_one(a_candidate(rm={}))

    assert refusal == Refusal(
        "signature",
        SIG,
        "no signature of tool.tgz",
        "one by an accepted identity, staged or public",
        "run: publisher sign 1.2.0",
    )
    assert refusal.rule not in WAIVABLE
    assert assess(a_candidate(rm={})).roles[RM].standing == {SIG: Standing.MISSING}
    assert refuse(a_candidate(rm={SIG: "sig"})) == []
    assert refuse(a_candidate(rm={}), public={TGZ: "tool", SIG: "sig"}) == []


def test_a_signature_that_is_public_without_its_artifact_proves_nothing() -> None:
    missing = assess(a_candidate(rm={}), public={SIG: "sig"})
    bad = a_candidate(checked={SIG: BAD})

    assert [(r.rule, r.subject) for r in missing.all_refusals()] == [("signature", SIG)]
    assert refuse(a_candidate(), public={SIG: "sig"}) == []
    assert refuse(bad, public={SIG: "sig"}) == [("signature", SIG)]
    assert refuse(bad, public={TGZ: "tool", SIG: "sig"}) == []
    assert refuse(replace(bad, checked={}), public={SIG: "sig"}) == [("signature", SIG)]


def test_a_builders_bundle_is_judged_beside_a_public_one_without_its_artifact() -> None:
    bad = replace(a_builders(), checked={SIG: BAD})

    assert refuse(a_builders(), public={SIG: "sig"}) == []
    assert refuse(bad, public={SIG: "sig"}) == [("signature", SIG)]
    assert refuse(bad, public={TGZ: "tool", SIG: "sig"}) == []


def test_an_openpgp_signature_that_is_public_without_its_artifact_is_still_owed() -> None:
    assert refuse(a_candidate(), public={PGP: "pgp"}, profile=BY_BUILDER) == [("signature", PGP)]
    assert refuse(a_candidate(), public={TGZ: "tool", PGP: "pgp"}, profile=BY_BUILDER) == []
    assert refuse(a_candidate(), public={PGP: "pgp"}, profile=BY_RM) == [("signature", PGP)]
    assert refuse(a_candidate(), public={TGZ: "tool", PGP: "pgp"}, profile=BY_RM) == []


def test_an_sbom_that_is_public_without_its_artifact_is_there_but_a_staged_one_is_judged() -> None:
    windows = handed_over("windows", {EXE: "setup"})
    bad = a_candidate(checked={SBOM: BAD})

    assert refuse(a_candidate(windows=windows), public={SBOM: "sbom"}, profile=CHECKED_SBOM) == []
    assert refuse(bad, public={SBOM: "sbom"}, profile=CHECKED_SBOM) == [("sbom", SBOM)]
    assert refuse(bad, public=SETUP, profile=CHECKED_SBOM) == []


def test_every_artifact_to_be_signed_needs_a_signature_of_its_own() -> None:
    both = a_profile(ARTIFACTS.replace('optional = "final"', 'optional = "final"\nsign = true'))
    source = handed_over("source", {TGZ: "tool", PDF: "guide"})
    signed = a_candidate(source=source, rm={SIG: "sig", f"{PDF}.sig": "sig"}, checked={f"{PDF}.sig": GOOD})

    assert refuse(a_candidate(source=source), profile=both) == [("signature", f"{PDF}.sig")]
    assert refuse(a_candidate(), profile=both) == []
    assert refuse(signed, profile=both) == []


def test_a_signature_that_does_not_count_is_refused_with_what_is_wrong() -> None:
    candidate = a_candidate(checked={SIG: BAD})
    refusal = refuse_one(candidate)

    assert refusal == Refusal(
        "signature",
        SIG,
        "a bundle of another file",
        "one of this file's digest",
        "was it built again?; run: publisher sign 1.2.0",
    )
    assert refusal.rule not in WAIVABLE
    assert assess(candidate).roles[RM].standing == {SIG: Standing.STAGED}
    assert refuse(a_candidate(checked={SIG: GOOD})) == []


def test_a_signature_that_nobody_has_checked_does_not_count() -> None:
    refusal = refuse_one(replace(a_candidate(), checked={}))

    assert (refusal.rule, refusal.subject) == ("signature", SIG)
    assert (refusal.found, refusal.expected) == ("a file that was not checked", "one that was")
    assert refusal.cure == "run: publisher sign 1.2.0"


def test_a_signature_of_the_bytes_before_a_respin_is_refused_until_the_new_ones_are_signed() -> None:
    respun = a_candidate(
        source=handed_over("source", {TGZ: "built again"}),
        state=a_state(attempt=2, void={"source": "sums-0"}),
        checked={SIG: BAD},
    )

    assert refuse(respun) == [("signature", SIG)]
    assert refuse(replace(respun, checked={SIG: GOOD})) == []


def test_a_signature_that_is_public_already_is_not_asked_for_again() -> None:
    assert refuse(replace(a_candidate(), checked={}), public=ALL) == []
    assert refuse(replace(a_candidate(rm={SIG: "second"}), checked={}), public=ALL) == [("public", SIG)]


def test_a_signature_that_waits_for_its_artifact_is_judged_with_it() -> None:
    waiting = a_candidate(source=staged("source", {TGZ: "tool"}), checked={SIG: BAD})
    there = a_candidate(checked={SIG: BAD})

    assert refuse(waiting) == [("missing", "source/1.2.0")]
    assert refuse(there) == [("signature", SIG)]


def test_a_release_of_a_kind_that_is_not_signed_needs_no_signature_and_takes_none() -> None:
    final_only = a_profile(ARTIFACTS.replace("sign = true", 'sign = "final"'))
    name, key = "1.2.0b1", "1.2.0b1/tool.tgz.sig"

    assert refuse(a_candidate(name, rm={}), profile=final_only) == []
    assert refuse(a_candidate(name), profile=final_only) == [("extra", key)]
    assert refuse(a_candidate(name, rm={})) == [("signature", key)]
    assert refuse(a_candidate(rm={}), profile=final_only) == [("signature", SIG)]


@pytest.mark.parametrize("key", [f"{EXE}.sig", f"{PDF}.sig"])
def test_a_signature_of_what_is_not_to_be_signed_is_extra(key: str) -> None:
    source = handed_over("source", {TGZ: "tool", PDF: "guide"})
    by_rm = a_candidate(source=source, rm={SIG: "sig", key: "sig"}, checked={key: GOOD})
    windows = handed_over("windows", {**SETUP, key: "sig"})
    by_builder = a_candidate(source=source, windows=windows, checked={key: GOOD})

    assert refuse(by_rm) == [("extra", key)]
    assert refuse(by_builder) == [("extra", key)]
    assert refuse(a_candidate(source=source)) == []


# --- Signatures by builders ------------------------------------------------------------------------------


def a_builders(sig: str = "sig", *, rm: Mapping[str, str] | None = None) -> ReleaseSnapshot:
    """Make a release whose builder has signed by itself."""
    return a_candidate(source=handed_over("source", {TGZ: "tool", SIG: sig}), rm=rm or {})


def test_a_bundle_may_come_from_the_builder_of_its_artifact() -> None:
    assessment = assess(a_builders())

    assert assessment.all_refusals() == ()
    assert [(item.expected.key, item.expected.role) for item in assessment.delivered()] == [
        (TGZ, "source"),
        (SIG, "source"),
        (EXE, "windows"),
        (SBOM, "windows"),
    ]
    assert assessment.roles["source"].standing == {TGZ: Standing.READY, SIG: Standing.READY}
    assert assessment.roles[RM].standing == {}


def test_a_builder_that_does_not_sign_owes_nothing() -> None:
    assessment = assess(a_candidate(rm={}))

    assert assessment.roles["source"].refusals == ()
    assert assessment.roles["source"].standing == {TGZ: Standing.READY}
    assert [refusal.subject for refusal in assessment.roles[RM].refusals] == [SIG]


def test_a_builders_bundle_that_does_not_count_goes_back_to_the_builder() -> None:
    candidate = replace(a_builders(), checked={SIG: BAD})

    assert refuse_one(candidate) == Refusal(
        "signature",
        SIG,
        "a bundle of another file",
        "one of this file's digest",
        "was it built again?; source makes it again, uploads it and hands over again",
    )
    assert assess(candidate).roles["source"].standing == {TGZ: Standing.READY, SIG: Standing.STAGED}
    assert refuse(replace(candidate, checked={})) == [("signature", SIG)]


def test_a_builders_bundle_is_handed_over_like_its_other_files() -> None:
    unlisted = handed_over("source", {TGZ: "tool", SIG: "sig"}, listed={TGZ: "tool"})
    changed = handed_over("source", {TGZ: "tool", SIG: "sig"}, listed={TGZ: "tool", SIG: "other"})

    assert refuse(a_candidate(source=unlisted, rm={})) == [("hand-over", SIG)]
    assert refuse(a_candidate(source=changed, rm={})) == [("digest", SIG)]


def test_a_builders_bundle_that_comes_late_is_the_builders_to_hand_over() -> None:
    late = a_candidate(source=staged("source", {SIG: "sig"}), rm={})
    refusals = assess(late, public={TGZ: "tool"}).all_refusals()

    assert [(refusal.rule, refusal.subject) for refusal in refusals] == [
        ("missing", "source/1.2.0"),
        ("signature", SIG),
    ]
    assert refusals[1].cure == "source makes it again, uploads it and hands over again"


def test_a_bundle_by_the_builder_and_by_the_release_manager_are_one_too_many() -> None:
    candidate = a_builders(rm={SIG: "sig"})

    refusal = refuse_one(candidate)

    assert refusal == Refusal(
        "signature",
        SIG,
        f"_rm/1.2.0/{SIG} and source/1.2.0/{SIG}",
        "one of them",
        "source removes its own and hands over again, or ops removes the other",
    )
    assert refusal.rule not in WAIVABLE
    assert refuse(a_builders()) == []
    assert refuse(a_candidate(rm={SIG: "sig"})) == []


def test_a_builders_bundle_and_its_amended_copy_are_in_nobodys_way_once_public() -> None:
    amended = replace(
        a_builders(rm={SIG: "repaired"}), amended={SIG: frozenset({of_bytes(b"sig")})}, checked={}
    )
    late = replace(amended, roles={**amended.roles, "source": handed_over("source", LATE)})
    public = {**ALL, SIG: "repaired"}

    assert refuse(amended, public=public) == []
    assert refuse(late, public=public) == []
    assert refuse(replace(late, amended={}), public=public) == [("public", SIG)]
    assert refuse(replace(late, amended={})) == [("signature", SIG), ("signature", SIG), ("signature", SIG)]


def test_a_builders_bundle_without_its_artifact_is_extra() -> None:
    source = handed_over("source", {SIG: "sig"})

    assert refuse(a_candidate(source=source, rm={})) == [("extra", SIG), ("missing", TGZ)]
    assert refuse(a_candidate(source=source, rm={}), public={TGZ: "tool"}) == []


def test_a_builders_bundle_that_is_public_stands_once() -> None:
    assessment = assess(a_candidate(rm={}), public={TGZ: "tool", SIG: "sig"})

    assert assessment.roles["source"].standing == {TGZ: Standing.PUBLIC}
    assert assessment.roles[RM].standing == {SIG: Standing.PUBLIC}
    assert assess(a_builders(), public={TGZ: "tool", SIG: "sig"}).roles["source"].standing == {
        TGZ: Standing.PUBLIC,
        SIG: Standing.PUBLIC,
    }


# --- OpenPGP signatures, SBOMs ---------------------------------------------------------------------------


def test_an_openpgp_signature_that_its_builder_owes_cannot_be_waived() -> None:
    source = handed_over("source", {TGZ: "tool", PGP: "pgp"})
    refusal = refuse_one(a_candidate(), profile=BY_BUILDER)

    assert refusal == Refusal(
        "signature",
        PGP,
        "no signature of tool.tgz",
        "one by an accepted identity, staged or public",
        "source makes it again, uploads it and hands over again",
    )
    assert refuse(a_candidate(source=source, checked={PGP: GOOD}), profile=BY_BUILDER) == []
    assert refuse(a_candidate(source=source, checked={PGP: BAD}), profile=BY_BUILDER) == [("signature", PGP)]
    assert refuse(a_candidate(source=source), profile=BY_BUILDER) == [("signature", PGP)]


def test_an_openpgp_signature_that_the_release_manager_owes_is_attached() -> None:
    candidate = a_candidate(rm={SIG: "sig", PGP: "pgp"}, checked={PGP: GOOD})
    missing = refuse_one(a_candidate(), profile=BY_RM)
    bad = refuse_one(replace(candidate, checked={SIG: GOOD, PGP: BAD}), profile=BY_RM)

    assert (missing.rule, missing.subject) == ("signature", PGP)
    assert missing.cure == "run: publisher attach 1.2.0 tool.tgz.asc"
    assert (bad.rule, bad.subject) == ("signature", PGP)
    assert bad.cure.endswith("; run: publisher attach 1.2.0 tool.tgz.asc")
    assert refuse(candidate, profile=BY_RM) == []


def test_no_builder_delivers_an_openpgp_signature_of_the_release_managers() -> None:
    source = handed_over("source", {TGZ: "tool", PGP: "pgp"})
    candidate = a_candidate(source=source, rm={SIG: "sig", PGP: "pgp"}, checked={PGP: GOOD})

    assert refuse(candidate, profile=BY_RM) == [("role", PGP)]


def test_an_sbom_that_does_not_name_its_artifacts_digest_is_refused_for_good() -> None:
    problem = Rejected("the digest of another file", "that of setup.exe")
    candidate = a_candidate(checked={SBOM: Checked(problem)})
    refusal = refuse_one(candidate, profile=CHECKED_SBOM)

    assert refusal == Refusal(
        "sbom",
        SBOM,
        "the digest of another file",
        "that of setup.exe",
        "windows makes it again, uploads it and hands over again",
    )
    assert refusal.rule not in WAIVABLE
    assert refuse(a_candidate(checked={SBOM: GOOD}), profile=CHECKED_SBOM) == []


def test_an_sbom_that_nobody_has_checked_is_refused_where_the_profile_says_what_it_is() -> None:
    assert refuse(a_candidate(), profile=CHECKED_SBOM) == [("sbom", SBOM)]
    assert refuse(a_candidate(checked={SBOM: BAD})) == []


def test_an_sbom_proves_nothing_so_a_missing_one_may_be_waived() -> None:
    refusal = refuse_one(a_candidate(windows=handed_over("windows", {EXE: "setup"})), profile=CHECKED_SBOM)

    assert (refusal.rule, refusal.subject) == ("missing", SBOM)
    assert refusal.rule in WAIVABLE


# --- Signed hand-overs -----------------------------------------------------------------------------------


def test_a_signed_hand_over_of_an_accepted_identity_counts() -> None:
    windows = replace(handed_over("windows", SETUP), signed=GOOD_HAND_OVER)
    assessment = assess(a_candidate(windows=windows), profile=SIGNED_HAND_OVER)

    assert assessment.all_refusals() == ()
    assert assessment.roles["windows"].standing == {EXE: Standing.READY, SBOM: Standing.READY}


def test_a_hand_over_without_the_signature_that_the_profile_asks_for_is_refused_for_good() -> None:
    candidate = a_candidate()
    refusal = refuse_one(candidate, profile=SIGNED_HAND_OVER)

    assert refusal == Refusal(
        "signature",
        "windows/1.2.0/SHA256SUMS.sigstore",
        "no SHA256SUMS.sigstore",
        f"one by ci ({SIGNER.issuer})",
        "windows hands over again, logged in as one of them",
    )
    assert refusal.rule not in WAIVABLE
    assert set(assess(candidate, profile=SIGNED_HAND_OVER).roles["windows"].standing.values()) == {
        Standing.STAGED
    }


@pytest.mark.parametrize(
    ("hint", "cure"),
    [
        ("", "windows hands over again, logged in as one of them"),
        ("the root is too old", "the root is too old; windows hands over again, logged in as one of them"),
    ],
)
def test_a_hand_over_that_somebody_else_signed_is_refused(hint: str, cure: str) -> None:
    rejected = Rejected("signed by eve", "signed by ci", hint)
    windows = replace(handed_over("windows", SETUP), signed=rejected)

    assert refuse_one(a_candidate(windows=windows), profile=SIGNED_HAND_OVER) == Refusal(
        "signature", "windows/1.2.0/SHA256SUMS.sigstore", "signed by eve", "signed by ci", cure
    )


def test_a_role_that_need_not_sign_may_hand_over_with_any_signature() -> None:
    windows = replace(handed_over("windows", SETUP), signed=Rejected("signed by eve", "signed by ci"))

    assert refuse(a_candidate(windows=windows)) == []


def test_a_role_that_hands_nothing_over_is_missing_and_not_unsigned() -> None:
    candidate = a_candidate(windows=staged("windows", SETUP))

    assert refuse(candidate, profile=SIGNED_HAND_OVER) == [("missing", "windows/1.2.0")]


# --- Amended sidecars ------------------------------------------------------------------------------------

AMENDED = {**ALL, SBOM: "repaired sbom", SIG: "repaired sig"}


def an_amended(windows: RoleStaging | None = None) -> ReleaseSnapshot:
    """Make a promoted release whose sidecars were amended: the builder's staged copy is the old one."""
    before = {key: frozenset({of_bytes(data.encode())}) for key, data in ((SBOM, "sbom"), (SIG, "sig"))}
    rm = {SIG: AMENDED[SIG], SBOM: AMENDED[SBOM]}
    return replace(a_candidate(numbers=(1,), windows=windows, rm=rm), amended=before, checked={})


def test_what_is_staged_of_an_amended_sidecar_is_in_nobodys_way() -> None:
    assessment = assess(an_amended(), public=AMENDED)

    assert assessment.all_refusals() == ()
    assert assessment.roles["windows"].standing == {EXE: Standing.PUBLIC, SBOM: Standing.PUBLIC}
    assert assessment.roles[RM].standing == {SIG: Standing.PUBLIC}


def test_a_difference_that_no_amendment_made_is_refused_all_the_same() -> None:
    unrecorded = replace(an_amended(), amended={})
    another = an_amended(windows=handed_over("windows", {EXE: "setup", SBOM: "a third"}))

    assert refuse(unrecorded, public=AMENDED) == [("public", SBOM)]
    assert refuse(another, public=AMENDED) == [("public", SBOM)]
    assert assess(another, public=AMENDED).roles["windows"].standing[SBOM] is Standing.DIFFERS


def test_an_amended_sidecar_is_the_same_release_to_who_has_not_handed_over() -> None:
    expired = handed_over("windows", {EXE: "setup"}, listed=SETUP)

    assert refuse(an_amended(windows=staged("windows", SETUP)), public=AMENDED) == []
    assert refuse(an_amended(windows=expired), public=AMENDED) == []
    assert refuse(replace(an_amended(windows=expired), amended={}), public=AMENDED) == [("public", SBOM)]


def test_the_release_managers_copy_from_before_an_amendment_is_in_nobodys_way_either() -> None:
    before = replace(an_amended(), rm={SIG: stage("_rm", {SIG: "sig"})[SIG]})

    assert refuse(before, public=AMENDED) == []
    assert refuse(replace(before, amended={}), public=AMENDED) == [("public", SBOM), ("public", SIG)]


def test_an_amended_release_is_settled() -> None:
    published = {key: of_bytes(data.encode()) for key, data in AMENDED.items()}

    assert is_settled(an_amended(), published)
    assert not is_settled(replace(an_amended(), amended={}), published)
    assert not is_settled(an_amended(), {**published, SBOM: of_bytes(b"by somebody else")})


# --- Standing --------------------------------------------------------------------------------------------


def test_every_file_of_a_role_has_a_standing() -> None:
    files = {TGZ: "tool", PDF: "guide", "x": "x"}
    assessment = assess(a_candidate(source=handed_over("source", files)), public={PDF: "first"})

    assert assessment.roles["source"].standing == {
        TGZ: Standing.READY,
        PDF: Standing.DIFFERS,
        "x": Standing.EXTRA,
    }


def test_files_without_a_hand_over_are_staged_or_public_or_missing() -> None:
    candidate = a_candidate(source=staged("source", {TGZ: "tool"}), windows=RoleStaging({}))

    assert assess(candidate).roles["source"].standing == {TGZ: Standing.STAGED}
    assert assess(candidate).roles["windows"].standing == {EXE: Standing.MISSING}
    assert assess(candidate, public=BOTH).roles["source"].standing == {TGZ: Standing.PUBLIC}
    assert assess(candidate, public=BOTH).roles["windows"].standing == {
        EXE: Standing.PUBLIC,
        SBOM: Standing.PUBLIC,
    }


def test_files_that_are_handed_over_and_public_are_public_and_the_rest_missing() -> None:
    windows = handed_over("windows", {EXE: "setup"})

    assert assess(a_candidate(windows=windows), public={EXE: "setup"}).roles["windows"].standing == {
        EXE: Standing.PUBLIC,
        SBOM: Standing.MISSING,
    }


def test_the_release_managers_sidecars_have_a_standing_too() -> None:
    candidate = a_candidate(rm={SIG: "signature", "x": "x"})

    assert assess(candidate).roles[RM].standing == {SIG: Standing.READY, "x": Standing.EXTRA}
    assert assess(a_candidate(), public={SIG: "sig"}).roles[RM].standing == {SIG: Standing.PUBLIC}
    assert assess(a_candidate(rm={}), public={SIG: "sig"}).roles[RM].standing == {SIG: Standing.PUBLIC}
    assert assess(a_candidate(), profile=ASC).roles[RM].standing == {
        SIG: Standing.READY,
        f"{TGZ}.asc": Standing.MISSING,
    }


# --- Settled ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("candidate", "public", "settled"),
    [
        (a_candidate(numbers=(1,)), ALL, True),
        (a_candidate(numbers=(1,), source=RoleStaging({}), windows=RoleStaging({}), rm={}), ALL, True),
        (a_candidate(numbers=(1,), source=RoleStaging({}), rm={}), SETUP, True),
        (a_candidate(), ALL, False),
        (a_candidate(numbers=(1,)), {TGZ: "tool", SIG: "sig"}, False),
        (a_candidate(numbers=(1,)), {**ALL, TGZ: "first"}, False),
        (a_candidate(numbers=(1,), rm={SIG: "signature"}), BOTH, False),
        (a_candidate(numbers=(1,), qa=staged("qa", {"x": "x"})), ALL, False),
    ],
    ids=[
        "all public",
        "staging expired",
        "some missing",
        "never promoted",
        "a late file",
        "a difference",
        "a late sidecar",
        "an extra file",
    ],
)
def test_a_release_is_settled_once_promoted_with_nothing_new_staged(
    candidate: ReleaseSnapshot, public: Mapping[str, str], settled: bool
) -> None:
    published = {key: of_bytes(data.encode()) for key, data in public.items()}

    assert is_settled(candidate, published) is settled


def test_files_are_staged_under_the_prefix_of_their_role() -> None:
    (stored,) = stage("windows", {EXE: "setup"}).values()

    assert stored.version.key == f"windows/1.2.0/{EXE}"
