"""Verifying: what is staged, as promote will judge it; what is public, against its signed records."""

import base64
import json
from dataclasses import replace

import pytest

from publisher.commands import verify
from publisher.core.digests import Digest, display, of_bytes
from publisher.core.identity import Identity
from publisher.errors import EdgeError, Exit, UsageError
from publisher.outcomes import Outcome, Promoted, Refused, Verified
from publisher.workflow.world import Visitor
from tests.support.sigstore_fake import RM, FakeSigner, sign_openpgp
from tests.support.site import (
    FIRST_RECORD,
    KEY,
    PKG,
    PROFILE,
    RELEASE,
    SIGNED_PROFILE,
    TGZ,
    Site,
    a_signing_site,
    expected_public,
)

PREFIX = f"_rm/{RELEASE}/"
DIGESTS = expected_public()
SBOM = f"{TGZ}.spdx.json"
OTHER = Identity("other@example.org", RM.issuer)


def a_signed_site() -> Site:
    site = a_signing_site()
    site.sign()
    return site


def check(site: Site) -> Verified:
    """Verify what is staged, and make sure that promote has the same opinion of it."""
    outcome = verify.run(site.world(), RELEASE)
    assert isinstance(outcome, Verified)
    judged = site.promote(dry_run=True)
    mine = set(outcome.refusals)
    theirs = set(judged.refusals) if isinstance(judged, Refused) else set[object]()
    assert mine <= theirs, "promote would let it pass"
    return outcome


def rules(outcome: Verified) -> list[tuple[str, str]]:
    return [(refusal.rule, refusal.subject) for refusal in outcome.refusals]


def stage_sbom(site: Site, digest: str) -> None:
    package = {
        "name": TGZ.rpartition("/")[2],
        "SPDXID": "SPDXRef-Package",
        "checksums": [{"algorithm": "SHA256", "checksumValue": digest}],
    }
    head = {"spdxVersion": "SPDX-2.3", "SPDXID": "SPDXRef-DOCUMENT", "name": "tool"}
    site.stage("linux", {SBOM: json.dumps({**head, "packages": [package]}).encode()})


# --- What is staged --------------------------------------------------------------------------------------


def test_what_is_signed_as_it_should_be_is_good() -> None:
    outcome = check(a_signed_site())

    assert outcome.status == Exit.DONE
    assert outcome.refusals == ()
    assert outcome.identities == (RM,)
    assert {(file.key, file.artifact, file.by) for file in outcome.files} == {
        (f"{key}{suffix}", key, RM.name) for key in (TGZ, PKG) for suffix in (".sigstore", ".sig", ".crt")
    }


def test_it_writes_nothing_and_needs_no_login() -> None:
    site = a_signed_site()
    site.s3.writes.clear()
    site.sigstore.login = None

    assert check(site).status == Exit.DONE
    assert site.s3.writes == []


def test_what_is_not_signed_is_refused() -> None:
    outcome = check(a_signing_site())

    assert outcome.status == Exit.REFUSED
    assert {rule for rule, _ in rules(outcome)} == {"signature"}
    assert {refusal.cure for refusal in outcome.refusals} == {f"run: publisher sign {RELEASE}"}
    assert len(outcome.refusals) == 6


def test_a_signature_of_the_last_attempt_is_refused() -> None:
    site = a_signed_site()
    site.stage_all(b"second")

    outcome = check(site)

    assert outcome.status == Exit.REFUSED
    assert {subject for rule, subject in rules(outcome) if rule == "signature"} >= {
        f"{TGZ}.sigstore",
        f"{PKG}.sigstore",
    }
    [stale] = [refusal for refusal in outcome.refusals if refusal.subject == f"{TGZ}.sigstore"]
    assert (stale.found, stale.expected) == (
        f"a bundle of {display(Digest(DIGESTS[TGZ]))}",
        f"one of {display(of_bytes(b'second ' + TGZ.encode()))}",
    )


@pytest.mark.parametrize("data", [b"", b"{}", b"\xff", b'{"name": "rm@example.org"}'])
def test_a_bundle_that_was_tampered_with_is_refused(data: bytes) -> None:
    site = a_signed_site()
    site.s3.staging.store(f"{PREFIX}{TGZ}.sigstore", data)

    outcome = check(site)

    assert outcome.status == Exit.REFUSED
    # What repeats a bundle is worth nothing without it.
    assert rules(outcome) == [("signature", f"{TGZ}{suffix}") for suffix in (".crt", ".sig", ".sigstore")]
    assert {file.artifact for file in outcome.files} == {PKG}


def test_the_bundle_of_another_artifact_is_refused() -> None:
    site = a_signed_site()
    other = site.s3.staging.current(f"{PREFIX}{PKG}.sigstore")
    assert other is not None
    site.s3.staging.store(f"{PREFIX}{TGZ}.sigstore", other.data)

    outcome = check(site)

    assert ("signature", f"{TGZ}.sigstore") in rules(outcome)
    assert {file.artifact for file in outcome.files} == {PKG}


@pytest.mark.parametrize("signer", [OTHER, Identity(RM.name, "https://other.example.org")])
def test_a_signature_by_somebody_else_is_refused(signer: Identity) -> None:
    site = a_signed_site()
    bundle = FakeSigner(site.sigstore, signer).sign(Digest(DIGESTS[TGZ]))
    site.s3.staging.store(f"{PREFIX}{TGZ}.sigstore", bundle)

    outcome = check(site)

    [bad] = [refusal for refusal in outcome.refusals if refusal.subject == f"{TGZ}.sigstore"]
    assert bad.found == f"a signature by {signer}"


@pytest.mark.parametrize("suffix", [".sig", ".crt"])
def test_what_repeats_another_bundle_is_refused(suffix: str) -> None:
    site = a_signed_site()
    site.s3.staging.store(f"{PREFIX}{TGZ}{suffix}", b"something else")

    outcome = check(site)

    assert rules(outcome) == [("signature", f"{TGZ}{suffix}")]


def test_line_ends_do_not_make_another_certificate() -> None:
    site = a_signed_site()
    found = site.s3.staging.current(f"{PREFIX}{TGZ}.crt")
    assert found is not None
    site.s3.staging.store(f"{PREFIX}{TGZ}.crt", (found.data or b"").replace(b"\n", b"\r\n"))

    assert check(site).status == Exit.DONE


def test_an_sbom_of_the_very_artifact_is_good_and_one_of_another_is_refused() -> None:
    site = a_signed_site()
    stage_sbom(site, DIGESTS[TGZ])
    site.hand_over("linux")
    good = check(site)
    stage_sbom(site, DIGESTS[PKG])
    site.hand_over("linux")

    bad = check(site)

    assert good.status == Exit.DONE
    assert (SBOM, TGZ, None) in {(file.key, file.artifact, file.by) for file in good.files}
    assert rules(bad) == [("sbom", SBOM)]


def test_what_is_bad_is_refused_before_it_is_handed_over_too() -> None:
    site = a_signed_site()
    stage_sbom(site, DIGESTS[PKG])
    site.s3.staging.expire(f"linux/{RELEASE}/SHA256SUMS")
    site.s3.staging.store(f"{PREFIX}{TGZ}.sigstore", b"{}")

    outcome = verify.run(site.world(), RELEASE)

    assert isinstance(outcome, Verified)
    assert outcome.status == Exit.REFUSED
    assert set(rules(outcome)) >= {("sbom", SBOM), ("signature", f"{TGZ}.sigstore")}
    assert len(rules(outcome)) == len(set(rules(outcome)))


def test_an_openpgp_signature_is_checked_with_the_artifacts_bytes() -> None:
    site = a_signed_site()
    data = b"first " + TGZ.encode()
    site.s3.staging.store(f"{PREFIX}{TGZ}.asc", sign_openpgp(KEY, data))
    good = check(site)
    site.s3.staging.store(f"{PREFIX}{TGZ}.asc", sign_openpgp(KEY, b"other bytes"))
    bad = check(site)

    assert (f"{TGZ}.asc", TGZ, KEY) in {(file.key, file.artifact, file.by) for file in good.files}
    assert rules(bad) == [("signature", f"{TGZ}.asc")]
    assert bad.refusals[0].cure == f"run: publisher attach {RELEASE} {TGZ.rpartition('/')[2]}.asc"


def test_whose_signature_counts_nowhere_is_said_of_an_unknown_series() -> None:
    site = Site(profile_text=SIGNED_PROFILE)
    site.open("1.3.0")
    site.stage_all(release="1.3.0")

    outcome = verify.run(site.world(), "1.3.0")

    assert isinstance(outcome, Verified)
    assert outcome.status == Exit.REFUSED
    assert ("identity", "1.3.0") in rules(outcome)
    assert outcome.identities == ()


def test_a_release_that_is_not_open_is_refused() -> None:
    outcome = verify.run(Site(profile_text=SIGNED_PROFILE).world(), RELEASE)

    assert isinstance(outcome, Verified)
    assert (outcome.status, rules(outcome)) == (Exit.REFUSED, [("not-open", RELEASE)])


def test_other_reasons_are_not_its_business() -> None:
    site = a_signed_site()
    site.s3.staging.store(f"_hold/qa/{RELEASE}", b"it does not start")

    assert check(site).status == Exit.DONE


def test_a_file_that_moves_while_it_is_read_is_refused() -> None:
    site = a_signed_site()

    def move(request: str, key: str) -> None:
        if (request, key) == ("read", f"{PREFIX}{TGZ}.sigstore"):
            site.s3.before = lambda request, key: None
            found = site.s3.staging.current(key)
            site.s3.staging.store(key, found.data if found else b"")

    site.s3.before = move
    outcome = verify.run(site.world(), RELEASE)

    assert isinstance(outcome, Verified)
    [moved] = [refusal for refusal in outcome.refusals if refusal.subject == f"{TGZ}.sigstore"]
    assert moved.found == "a file that changed while it was read"


# --- What is public --------------------------------------------------------------------------------------


def visit(site: Site, release: str = RELEASE, **changes: object) -> Verified:
    outcome = look(site, release, **changes)
    assert isinstance(outcome, Verified)
    return outcome


def look(site: Site, release: str = RELEASE, **changes: object) -> Outcome:
    """Verify what is public, as anybody, and make sure that no bucket was asked."""
    visitor = replace(site.world().visitor, **changes)  # pyright: ignore[reportArgumentType] - by name
    seen: list[str] = []
    site.s3.before = lambda request, key: seen.append(request)
    outcome = verify.run_public(visitor, release)
    site.s3.before = lambda request, key: None
    assert set(seen) <= {"get"}, "a visitor has no credentials"
    return outcome


def a_public_site() -> Site:
    site = a_signed_site()
    assert isinstance(site.promote(), Promoted)
    return site


def rewrite(site: Site, key: str, change: dict[str, object], *, signer: Identity = RM) -> None:
    """Let somebody write another record, signed by `signer`, over a public one."""
    found = site.s3.public.current(key)
    assert found is not None
    envelope = json.loads(found.data or b"")["dsseEnvelope"]
    statement = json.loads(base64.b64decode(envelope["payload"]))
    statement["predicate"].update(change)
    site.s3.public.store(
        key, FakeSigner(site.sigstore, signer).sign_statement(json.dumps(statement).encode())
    )


def test_what_is_public_as_recorded_is_good() -> None:
    site = a_public_site()

    outcome = visit(site)

    assert (outcome.status, outcome.public, outcome.records) == (Exit.DONE, True, 1)
    assert {file.key for file in outcome.files} == set(site.public())
    assert len(outcome.files) == 8
    assert outcome.identities == (RM,)


def test_every_record_of_a_release_counts() -> None:
    site = a_public_site()
    stage_sbom(site, DIGESTS[TGZ])
    site.hand_over("linux")
    assert isinstance(site.promote(), Promoted)

    outcome = visit(site)

    assert (outcome.status, outcome.records) == (Exit.DONE, 2)
    assert SBOM in {file.key for file in outcome.files}


def test_another_digest_at_a_public_key_is_drift() -> None:
    site = a_public_site()
    site.s3.public.store(TGZ, b"something else")

    outcome = visit(site)

    assert (outcome.status, rules(outcome)) == (Exit.REFUSED, [("drift", TGZ)])
    (refusal,) = outcome.refusals
    assert refusal.found == display(of_bytes(b"something else"))
    assert refusal.expected == f"{display(Digest(DIGESTS[TGZ]))} by the record"
    assert TGZ not in {file.key for file in outcome.files}
    assert len(outcome.files) == 7


def test_a_public_file_that_is_missing_is_drift() -> None:
    site = a_public_site()
    site.s3.public.expire(PKG)

    outcome = visit(site)

    assert outcome.status == Exit.REFUSED
    assert ("drift", PKG) in rules(outcome)
    [gone] = [refusal for refusal in outcome.refusals if refusal.subject == PKG]
    assert gone.found.endswith(f"{PKG} answered 404")


@pytest.mark.parametrize("signer", [OTHER, Identity(RM.name, "https://other.example.org")])
def test_a_record_that_somebody_else_has_signed_is_not_believed(signer: Identity) -> None:
    site = a_public_site()
    rewrite(site, FIRST_RECORD, {}, signer=signer)

    outcome = visit(site)

    assert (outcome.status, rules(outcome)) == (Exit.REFUSED, [("record", FIRST_RECORD)])
    assert outcome.refusals[0].found == f"a signature by {signer}"
    assert (outcome.records, outcome.files) == (0, ())


def test_a_record_that_the_right_one_has_signed_again_is_believed() -> None:
    site = a_public_site()
    rewrite(site, FIRST_RECORD, {})

    assert visit(site).status == Exit.DONE


@pytest.mark.parametrize("change", [{"release": "1.2.4"}, {"number": 7}])
def test_the_record_of_another_release_or_number_is_not_taken_for_this_one(change: dict[str, object]) -> None:
    site = a_public_site()
    rewrite(site, FIRST_RECORD, change)

    outcome = visit(site)

    assert (outcome.status, rules(outcome)) == (Exit.REFUSED, [("record", FIRST_RECORD)])


def test_a_signed_statement_about_other_files_than_its_own_is_not_believed() -> None:
    site = a_public_site()
    rewrite(site, FIRST_RECORD, {"files": []})

    outcome = visit(site)

    assert (outcome.status, rules(outcome)) == (Exit.REFUSED, [("record", FIRST_RECORD)])
    assert "other subjects" in outcome.refusals[0].found


def test_what_is_no_record_is_refused() -> None:
    site = a_public_site()
    site.s3.public.store(FIRST_RECORD, b"hello")

    assert rules(visit(site)) == [("record", FIRST_RECORD)]


def test_a_release_without_records_is_not_verified() -> None:
    outcome = visit(a_signed_site())

    assert (outcome.status, rules(outcome)) == (Exit.REFUSED, [("record", FIRST_RECORD)])
    assert outcome.refusals[0].found == "no record"


@pytest.mark.parametrize("number", [1, 2])
def test_a_record_that_is_missing_before_another_is_a_gap(number: int) -> None:
    site = a_public_site()
    stage_sbom(site, DIGESTS[TGZ])
    site.hand_over("linux")
    site.promote()
    data = b"first " + TGZ.encode()
    site.s3.staging.store(f"{PREFIX}{TGZ}.asc", sign_openpgp(KEY, data))
    site.promote()
    assert visit(site).records == 3
    key = FIRST_RECORD.replace("-1.json", f"-{number}.json")
    site.s3.public.expire(key)

    outcome = visit(site)

    assert (outcome.status, outcome.records) == (Exit.REFUSED, 2)
    assert rules(outcome) == [("record", key)]
    assert outcome.refusals[0].found == "no record"


def test_unsigned_records_count_only_where_the_configuration_says_so_and_with_a_warning() -> None:
    site = Site(profile_text=PROFILE, signed_records=False)
    site.open()
    site.stage_all()
    assert isinstance(site.promote(), Promoted)
    site.observer.warnings.clear()

    loose, strict = visit(site), visit(site, signed_records=True)

    assert (loose.status, loose.records) == (Exit.DONE, 1)
    assert site.observer.warnings == [
        f"{FIRST_RECORD} is not signed: anybody who can write there may have made it"
    ]
    assert (strict.status, rules(strict)) == (Exit.REFUSED, [("record", FIRST_RECORD)])


def test_signed_records_are_verified_though_unsigned_ones_would_do() -> None:
    site = a_public_site()
    good = visit(site, signed_records=False)
    rewrite(site, FIRST_RECORD, {}, signer=OTHER)

    bad = visit(site, signed_records=False)

    assert (good.status, bad.status) == (Exit.DONE, Exit.REFUSED)
    assert site.observer.warnings == []


def test_a_site_that_does_not_answer_is_an_error_and_no_verdict() -> None:
    site = a_public_site()

    def fail(request: str, key: str) -> None:
        raise EdgeError("no answer")

    site.s3.before = fail
    with pytest.raises(EdgeError, match="no answer"):
        verify.run_public(site.world().visitor, RELEASE)


def test_a_project_whose_records_are_not_public_cannot_be_verified_so() -> None:
    text = PROFILE.replace(b'[record]\nkey = "tool/{release}/tool-{release}.record-{number}.json"\n', b"")
    site = Site(profile_text=text)
    site.open()
    site.stage_all()
    site.promote()

    with pytest.raises(UsageError, match="the records of Tool are not public"):
        verify.run_public(site.world().visitor, RELEASE)
    assert site.public_records() == {}
    assert len(site.stored_records()) == 1


@pytest.mark.parametrize("name", ["nonsense", ""])
def test_what_is_no_release_is_misuse(name: str) -> None:
    site = Site()
    with pytest.raises(UsageError):
        verify.run_public(site.world().visitor, name)
    with pytest.raises(UsageError):
        verify.run(site.world(), name)


def test_a_visitor_has_nothing_that_needs_credentials() -> None:
    names = set(Visitor.__slots__)

    assert names.isdisjoint({"staging", "public", "gate", "cdn", "caller", "signing", "state"})
