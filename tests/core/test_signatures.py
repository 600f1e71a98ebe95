"""What is signed, again or not, and as whom."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from publisher.core.assess import assess_release
from publisher.core.digests import of_bytes
from publisher.core.identity import Identity
from publisher.core.profile import Profile, Release
from publisher.core.refusals import WAIVABLE, Refusal
from publisher.core.signatures import (
    SigningPlan,
    ToSign,
    plan_signing,
    refuse_identity,
    refuse_nobody,
)
from publisher.core.signing import Checked, Format
from publisher.core.snapshot import ReleaseSnapshot, RoleStaging
from tests.support.builders import (
    ARTIFACTS,
    BAD,
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
    a_release,
    a_state,
    handed_over,
    staged,
)

TOOL = of_bytes(b"tool")
SIGNED = SigningPlan((), (TGZ,), ())
WAITING = SigningPlan((), (), (TGZ,))
# Signing makes three files of each artifact here.
RAW, CRT = f"{TGZ}.raw", f"{TGZ}.crt"
THREE = {SIG: "sig", RAW: "raw", CRT: "crt"}
DETACHED = a_profile(
    head=HEAD.replace('bundle = ".sig"', 'bundle = ".sig"\nsignature = ".raw"\ncertificate = ".crt"')
)
PDF_TOO = a_profile(ARTIFACTS.replace('optional = "final"', 'optional = "final"\nsign = true'))
SELF_SIGNED = handed_over("source", {TGZ: "tool", SIG: "sig"})
# The bundle by the builder, the rest by the release manager.
THREE_BY_TWO = a_candidate(
    source=SELF_SIGNED, rm={RAW: "raw", CRT: "crt"}, checked={SIG: GOOD, RAW: GOOD, CRT: GOOD}
)
EVE = Identity("eve@example.org", SIGNER.issuer)


def plan(
    candidate: ReleaseSnapshot, public: Mapping[str, str] | None = None, profile: Profile | None = None
) -> SigningPlan:
    profile = profile or a_profile()
    published = {key: of_bytes(data.encode()) for key, data in (public or {}).items()}
    return plan_signing(assess_release(candidate, profile, published), profile, published)


def nobody_signs(profile: Profile, release: Release, *, signed_records: bool = False) -> list[Refusal]:
    return list(refuse_nobody(profile, release, signed_records=signed_records))


def to_sign(data: str = "tool") -> SigningPlan:
    """Expect a plan to sign the archive, of these bytes, and nothing else."""
    return SigningPlan((ToSign(TGZ, of_bytes(data.encode()), {Format.BUNDLE: SIG}),), (), ())


def complete(candidate: ReleaseSnapshot, public: Mapping[str, str] | None = None) -> tuple[str | None, bool]:
    """Plan the one archive where signing makes three files, and say which bundle the others come from."""
    (item,) = plan(candidate, public, profile=DETACHED).todo
    assert (item.artifact, item.digest) == (TGZ, TOOL)
    return item.bundle, item.is_public


# --- What is signed --------------------------------------------------------------------------------------


def test_an_artifact_without_a_bundle_is_signed_by_its_digest() -> None:
    assert plan(a_candidate(rm={})) == to_sign()


def test_an_artifact_with_a_good_bundle_is_not_signed_again() -> None:
    assert plan(a_candidate()) == SIGNED


@pytest.mark.parametrize("checked", [{SIG: BAD}, {}], ids=["bad", "not checked"])
def test_a_bundle_that_is_not_known_to_be_good_is_made_anew(checked: Mapping[str, Checked]) -> None:
    assert plan(replace(a_candidate(), checked=checked)) == to_sign()


def test_a_bundle_from_before_a_respin_is_made_anew_for_the_new_bytes() -> None:
    respun = a_candidate(
        source=handed_over("source", {TGZ: "built again"}), state=a_state(attempt=2), checked={SIG: BAD}
    )

    assert plan(respun) == to_sign("built again")


def test_only_what_the_profile_marks_is_signed() -> None:
    source = handed_over("source", {TGZ: "tool", PDF: "guide"})
    candidate = a_candidate(source=source)

    assert plan(candidate) == SIGNED
    assert [item.artifact for item in plan(candidate, profile=PDF_TOO).todo] == [PDF]


def test_an_optional_artifact_that_is_not_there_is_not_waited_for() -> None:
    assert plan(a_candidate(), profile=PDF_TOO) == SIGNED


def test_what_this_kind_of_release_must_not_have_is_not_signed() -> None:
    name = "1.2.0b1"
    source = handed_over("source", {f"{name}/tool.tgz": "tool", f"{name}/guide.pdf": "guide"})

    assert plan(a_candidate(name, source=source), profile=PDF_TOO) == SigningPlan(
        (), (f"{name}/tool.tgz",), ()
    )


def test_only_releases_of_the_kinds_that_the_profile_names_are_signed() -> None:
    final_only = a_profile(ARTIFACTS.replace("sign = true", 'sign = "final"'))
    beta = a_candidate("1.2.0b1", rm={}, source=handed_over("source", {"1.2.0b1/tool.tgz": "tool"}))

    assert plan(a_candidate(rm={}), profile=final_only) == to_sign()
    assert plan(beta, profile=final_only) == SigningPlan((), (), ())
    assert [item.artifact for item in plan(beta).todo] == ["1.2.0b1/tool.tgz"]


# --- Handed over or not ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        staged("source", {TGZ: "tool"}),
        RoleStaging({}),
        handed_over("source", {TGZ: "damaged"}, listed={TGZ: "tool"}),
        handed_over("source", {TGZ: "tool"}, commit="d" * 40),
    ],
    ids=["not handed over", "not staged", "other bytes", "another commit"],
)
def test_nothing_is_signed_before_it_is_handed_over_as_it_should_be(source: RoleStaging) -> None:
    assert plan(a_candidate(source=source, rm={})) == WAITING


def test_an_artifact_that_differs_from_the_public_one_is_not_signed() -> None:
    assert plan(a_candidate(rm={}), public={TGZ: "first"}) == WAITING


def test_a_role_that_is_late_keeps_nobody_else_from_being_signed() -> None:
    both = a_profile(ARTIFACTS.replace('role = "windows"', 'role = "windows"\nsign = true'))
    late = a_candidate(windows=staged("windows", {EXE: "setup", SBOM: "sbom"}), rm={})

    assert plan(late, profile=both).todo == to_sign().todo
    assert plan(late, profile=both).waiting == (EXE,)


def test_a_hold_does_not_keep_a_release_from_being_signed() -> None:
    assert plan(a_candidate(rm={}, qa=staged("qa", {}, hold=b"no"))) == to_sign()


# --- Public, and by builders -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rm", [{}, {SIG: "sig"}, {SIG: "another"}], ids=["staged copy expired", "staged", "another is staged"]
)
def test_what_has_a_public_bundle_is_never_signed_again(rm: Mapping[str, str]) -> None:
    public = {TGZ: "tool", SIG: "sig"}

    assert plan(replace(a_candidate(rm=rm), checked={}), public) == SIGNED
    assert plan(replace(a_candidate(rm=rm, source=RoleStaging({})), checked={}), public) == SIGNED


@pytest.mark.parametrize("source", [None, RoleStaging({})], ids=["staged too", "staged copy expired"])
def test_a_public_artifact_may_be_signed_late(source: RoleStaging | None) -> None:
    candidate = a_candidate(source=source, rm={})

    assert plan(candidate, public={TGZ: "tool"}) == to_sign()


def test_a_good_bundle_that_a_builder_delivered_is_enough() -> None:
    assert plan(a_candidate(source=SELF_SIGNED, rm={})) == SIGNED


@pytest.mark.parametrize("checked", [{SIG: BAD}, {}], ids=["bad", "not checked"])
def test_a_builders_bundle_that_is_not_known_to_be_good_is_waited_for_and_never_replaced(
    checked: Mapping[str, Checked],
) -> None:
    candidate = replace(a_candidate(source=SELF_SIGNED, rm={}), checked=checked)

    assert plan(candidate) == WAITING
    assert plan(candidate, profile=DETACHED) == WAITING


def test_a_builders_bad_bundle_is_no_matter_once_a_good_one_is_public() -> None:
    candidate = a_candidate(source=SELF_SIGNED, rm={}, checked={SIG: BAD})

    assert plan(candidate, {TGZ: "tool", SIG: "other"}) == SIGNED
    assert plan(candidate, {TGZ: "tool"}) == WAITING


def test_a_bundle_that_is_public_without_its_artifact_proves_nothing() -> None:
    candidate = replace(a_candidate(rm={}), checked={})

    assert plan(candidate, {SIG: "sig"}) == to_sign()
    assert plan(candidate, {TGZ: "tool", SIG: "sig"}) == SIGNED


def test_a_builders_good_bundle_is_enough_beside_a_public_one_without_its_artifact() -> None:
    assert plan(a_candidate(source=SELF_SIGNED, rm={}), {SIG: "sig"}) == SIGNED


# --- Detached signatures and certificates ----------------------------------------------------------------


def test_all_that_signing_makes_of_an_artifact_is_named_the_bundle_first() -> None:
    (item,) = plan(a_candidate(rm={}), profile=DETACHED).todo

    assert list(item.sidecars.items()) == [
        (Format.BUNDLE, SIG),
        (Format.SIGNATURE, RAW),
        (Format.CERTIFICATE, CRT),
    ]
    assert (item.bundle, item.is_public) == (None, False)


def test_an_artifact_is_signed_once_all_of_its_sidecars_are_good() -> None:
    candidate = a_candidate(rm=THREE, checked={RAW: GOOD, CRT: GOOD})

    assert plan(candidate, profile=DETACHED) == SIGNED


@pytest.mark.parametrize(
    ("rm", "checked"),
    [
        ({SIG: "sig"}, {SIG: GOOD}),
        ({SIG: "sig", CRT: "crt"}, {SIG: GOOD, CRT: GOOD}),
        (THREE, {SIG: GOOD, RAW: BAD, CRT: GOOD}),
        (THREE, {SIG: GOOD, RAW: GOOD}),
    ],
    ids=["bundle alone", "no signature", "another signature", "certificate not checked"],
)
def test_a_good_bundle_is_kept_and_only_completed(
    rm: Mapping[str, str], checked: Mapping[str, Checked]
) -> None:
    candidate = replace(a_candidate(rm=rm), checked=checked)

    assert complete(candidate) == (f"_rm/1.2.0/{SIG}", False)


def test_a_builders_good_bundle_is_completed_by_the_release_manager() -> None:
    candidate = a_candidate(source=SELF_SIGNED, rm={})

    assert complete(candidate) == (f"source/1.2.0/{SIG}", False)
    assert plan(a_candidate(source=SELF_SIGNED, rm={RAW: "raw", CRT: "crt"}), profile=DETACHED).todo != ()
    assert plan(THREE_BY_TWO, profile=DETACHED) == SIGNED


@pytest.mark.parametrize("source", [None, RoleStaging({}), SELF_SIGNED], ids=["staged", "expired", "signed"])
def test_a_public_bundle_is_completed_from_where_it_is(source: RoleStaging | None) -> None:
    candidate = replace(a_candidate(source=source, rm={}), checked={})
    public = {TGZ: "tool", SIG: "sig"}

    assert complete(candidate, public) == (SIG, True)
    assert complete(candidate, {**public, RAW: "raw"}) == (SIG, True)
    assert plan(candidate, {**public, RAW: "raw", CRT: "crt"}, profile=DETACHED) == SIGNED


def test_what_is_public_and_what_is_staged_and_good_are_enough_together() -> None:
    candidate = replace(a_candidate(rm={CRT: "crt"}), checked={CRT: GOOD})
    unchecked = replace(candidate, checked={})
    public = {TGZ: "tool", SIG: "sig", RAW: "raw"}

    assert plan(candidate, public, profile=DETACHED) == SIGNED
    assert complete(unchecked, public) == (SIG, True)


def test_the_release_managers_bundle_is_completed_before_the_builders() -> None:
    candidate = a_candidate(source=SELF_SIGNED, rm={SIG: "sig"})

    assert complete(candidate) == (f"_rm/1.2.0/{SIG}", False)


@pytest.mark.parametrize(
    ("rm", "checked"),
    [
        ({RAW: "raw", CRT: "crt"}, {RAW: GOOD, CRT: GOOD}),
        (THREE, {SIG: BAD, RAW: GOOD, CRT: GOOD}),
        (THREE, {RAW: GOOD, CRT: GOOD}),
        # Nothing is staged, whatever was checked.
        ({}, {SIG: GOOD, RAW: GOOD, CRT: GOOD}),
    ],
    ids=["no bundle", "bad bundle", "bundle not checked", "nothing staged"],
)
def test_without_a_good_bundle_all_is_made_anew(
    rm: Mapping[str, str], checked: Mapping[str, Checked]
) -> None:
    assert complete(replace(a_candidate(rm=rm), checked=checked)) == (None, False)


# --- As whom ---------------------------------------------------------------------------------------------


def test_a_login_whose_signature_would_not_count_is_refused() -> None:
    assert list(refuse_identity((SIGNER,), "1.2.0", EVE)) == [
        Refusal(
            "identity",
            "1.2.0",
            "a login as eve@example.org (https://accounts.example.org)",
            "rm@example.org (https://accounts.example.org)",
            "log in as one of them, or add the identity to the profile",
        )
    ]


def test_a_login_as_one_of_several_is_accepted() -> None:
    assert list(refuse_identity((SIGNER,), "1.2.0", SIGNER)) == []
    assert list(refuse_identity((EVE, SIGNER), "1.2.0", SIGNER)) == []


def test_the_same_name_from_another_issuer_is_somebody_else() -> None:
    forged = Identity(SIGNER.name, "https://evil.example.org")
    (refusal,) = refuse_identity((SIGNER,), "1.2.0", forged)

    assert refusal.found == "a login as rm@example.org (https://evil.example.org)"
    assert refusal.rule not in WAIVABLE


def test_a_release_that_somebody_may_sign_is_not_refused() -> None:
    assert nobody_signs(a_profile(), a_release()) == []


@pytest.mark.parametrize("name", ["1.1.0", "1.3.0"], ids=["series without identity", "unknown series"])
def test_a_release_that_nobody_may_sign_is_refused(name: str) -> None:
    assert nobody_signs(a_profile(), a_release(name)) == [
        Refusal(
            "identity",
            name,
            f"no identity that may sign for series {name[:3]}",
            "at least one, with its issuer",
            'add it to [identity] of the profile; for records alone, ops may set records = "unsigned"',
        )
    ]


def test_a_project_without_series_is_named_instead_of_one() -> None:
    head = HEAD[: HEAD.index("[series.")] + HEAD[HEAD.index("[roles.source]") : HEAD.index("[identity.")]
    accepted = (
        '[identity]\naccepted = [{ name = "rm@example.org", issuer = "https://accounts.example.org" }]\n'
    )
    nobody, somebody = a_profile(head=head), a_profile(head=head + accepted)
    (refusal,) = nobody_signs(nobody, a_release(profile=nobody))

    assert refusal.found == "no identity that may sign for the project"
    assert nobody_signs(somebody, a_release(profile=somebody)) == []


def test_a_release_of_which_nothing_is_to_be_signed_needs_nobody() -> None:
    unsigned = a_profile(ARTIFACTS.replace("sign = true\n", ""))
    final_only = a_profile(ARTIFACTS.replace("sign = true\n", 'sign = true\nrequired = "final"\n'))

    assert nobody_signs(unsigned, a_release("1.1.0")) == []
    assert nobody_signs(final_only, a_release("1.1.0b1")) == []
    assert nobody_signs(final_only, a_release("1.1.0")) != []


def test_a_release_of_a_kind_that_is_not_signed_needs_nobody() -> None:
    final_only = a_profile(ARTIFACTS.replace("sign = true", 'sign = "final"'))

    assert nobody_signs(final_only, a_release("1.1.0b1")) == []
    assert nobody_signs(final_only, a_release("1.1.0")) != []


def test_a_release_whose_record_nobody_may_sign_is_refused_where_records_are_signed() -> None:
    unsigned = ARTIFACTS.replace("sign = true\n", "")
    nobody = a_profile(unsigned, HEAD[: HEAD.index("[identity.")])
    recorder = f"[identity]\nrecords = [{{ name = '{EVE.name}', issuer = '{EVE.issuer}' }}]\n"
    somebody = a_profile(unsigned, HEAD[: HEAD.index("[identity.")] + recorder)

    assert [r.rule for r in nobody_signs(nobody, a_release(), signed_records=True)] == ["identity"]
    assert nobody_signs(nobody, a_release(), signed_records=False) == []
    assert nobody_signs(somebody, a_release(), signed_records=True) == []
    assert nobody_signs(a_profile(unsigned), a_release(), signed_records=True) == []


def test_who_may_sign_records_alone_may_sign_no_artifact() -> None:
    recorder = f"[identity]\nrecords = [{{ name = '{EVE.name}', issuer = '{EVE.issuer}' }}]\n"
    profile = a_profile(head=HEAD[: HEAD.index("[identity.")] + recorder)

    for signed_records in (False, True):
        assert len(nobody_signs(profile, a_release(), signed_records=signed_records)) == 1
