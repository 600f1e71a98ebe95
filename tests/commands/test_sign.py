"""Signing: by digest, with one login, only what lacks a valid bundle, and never half."""

import json

import pytest

from publisher.core.digests import Digest, of_bytes
from publisher.core.identity import Identity
from publisher.errors import (
    Exit,
    LeaseError,
    LoginError,
    PublisherError,
    SigningError,
    StoppedError,
    UsageError,
)
from publisher.outcomes import Outcome, Promoted, Refused, SignedRelease, SignedReleases
from publisher.workflow.lease import hold_lease
from tests.support.sigstore_fake import RM, FakeSigner
from tests.support.site import OTHER_COMMIT, PKG, PROFILE, RELEASE, TGZ, Site, a_signing_site, expected_public

PREFIX = f"_rm/{RELEASE}/"
DIGESTS = expected_public()
SIDECARS = {f"{PREFIX}{key}{suffix}" for key in (TGZ, PKG) for suffix in (".sigstore", ".sig", ".crt")}
OTHER = Identity("other@example.org", RM.issuer)


class CrashError(BaseException):
    """The process is gone."""


def staged(site: Site) -> dict[str, bytes]:
    """Give every sidecar that the release manager has staged."""
    found = {key: site.s3.staging.current(key) for key in site.s3.staging.digests("_rm/")}
    return {key: version.data or b"" for key, version in found.items() if version}


def stage_bundle(site: Site, key: str, digest: str, *, signer: Identity = RM, prefix: str = PREFIX) -> bytes:
    bundle = FakeSigner(site.sigstore, signer).sign(Digest(digest))
    site.s3.staging.store(f"{prefix}{key}.sigstore", bundle)
    site.sigstore.signed.clear()
    return bundle


def told(outcome: Outcome) -> SignedRelease:
    assert isinstance(outcome, SignedReleases)
    (found,) = outcome.releases
    return found


def verify(site: Site, key: str, digest: str) -> None:
    """Make sure that the staged bundle is good, and that what repeats it does so."""
    files = staged(site)
    verdict = site.sigstore.verify(files[f"{PREFIX}{key}.sigstore"], Digest(digest), [RM])
    assert not hasattr(verdict, "found"), verdict
    assert files[f"{PREFIX}{key}.sig"] == getattr(verdict, "signature", None)
    assert files[f"{PREFIX}{key}.crt"] == getattr(verdict, "certificate", None)


def test_every_artifact_is_signed_by_its_digest_with_one_login() -> None:
    site = a_signing_site()

    outcome = site.sign()

    assert outcome.status == Exit.DONE
    assert set(told(outcome).signed) == {TGZ, PKG}
    assert (told(outcome).already, told(outcome).waiting) == ((), ())
    assert site.sigstore.logins == 1
    assert sorted(site.sigstore.signed) == sorted(DIGESTS.values())
    assert set(staged(site)) == SIDECARS
    for key in (TGZ, PKG):
        verify(site, key, DIGESTS[key])
    assert isinstance(site.promote(), Promoted)


def test_no_byte_of_an_artifact_is_read_to_sign_it() -> None:
    site = a_signing_site()
    seen: list[tuple[str, str]] = []
    site.s3.before = lambda request, key: seen.append((request, key))

    site.sign()

    of_artifacts = {request for request, key in seen if key.endswith((".tgz", ".pkg"))}
    assert of_artifacts == {"describe"}


def test_nothing_is_written_but_the_sidecars_the_lease_and_the_gates_owner() -> None:
    site = a_signing_site()
    site.s3.writes.clear()

    site.sign()

    names = {name for _, name in site.s3.writes}
    assert names - {"staging/_state/lease.json", "gate/owner"} == {f"staging/{key}" for key in SIDECARS}
    assert not any(name.startswith(("staging/linux/", "staging/mac/", "public/")) for name in names)


def test_each_bundle_is_stored_before_what_repeats_it() -> None:
    site = a_signing_site()
    site.s3.writes.clear()

    site.sign()

    puts = [name.removeprefix(f"staging/{PREFIX}") for request, name in site.s3.writes if request == "put"]
    for key in (TGZ, PKG):
        assert [name for name in puts if name.startswith(key)] == [
            f"{key}.sigstore",
            f"{key}.sig",
            f"{key}.crt",
        ]


def test_a_second_run_asks_for_no_login_and_writes_nothing() -> None:
    site = a_signing_site()
    site.sign()
    site.s3.writes.clear()
    site.sigstore.signed.clear()

    outcome = site.sign()

    assert (told(outcome).signed, set(told(outcome).already)) == ((), {TGZ, PKG})
    assert site.sigstore.logins == 1
    assert site.sigstore.signed == []
    assert site.s3.writes == []


def test_only_what_a_respin_has_changed_is_signed_again() -> None:
    site = a_signing_site()
    site.sign()
    before = staged(site)
    site.respin()
    site.sigstore.signed.clear()
    site.stage("linux", {TGZ: b"second " + TGZ.encode()})
    for role in ("linux", "mac"):
        site.hand_over(role, commit=OTHER_COMMIT)
    stale = site.promote()

    outcome = site.sign()

    # The old bundle is no proof of the new bytes, and the old bytes stay signed.
    assert isinstance(stale, Refused)
    assert {(refusal.rule, refusal.subject) for refusal in stale.refusals} == {
        ("signature", f"{TGZ}{suffix}") for suffix in (".sigstore", ".sig", ".crt")
    }
    assert told(outcome) == SignedRelease(RELEASE, signed=(TGZ,), already=(PKG,), waiting=())
    assert site.sigstore.signed == [of_bytes(b"second " + TGZ.encode())]
    verify(site, TGZ, of_bytes(b"second " + TGZ.encode()))
    assert {key for key in before if before[key] == staged(site)[key]} == {
        key for key in SIDECARS if PKG in key
    }
    assert isinstance(site.promote(), Promoted)


def test_a_failure_half_way_says_how_far_it_came_and_the_next_run_signs_the_rest() -> None:
    site = a_signing_site()

    def fail(request: str, key: str) -> None:
        if request == "sign" and site.sigstore.signed:
            raise SigningError("the log did not answer in 30 s", "wait, then run again")

    site.sigstore.before = fail
    with pytest.raises(SigningError, match="did not answer in 30 s; 1 of 2 artifacts are signed") as caught:
        site.sign()

    assert caught.value.exit_status == Exit.FAILED
    assert caught.value.next_step == "wait, then run again"
    first = staged(site)
    assert len(first) == 3
    site.sigstore.before = lambda request, key: None
    outcome = site.sign()
    assert len(told(outcome).signed) == len(told(outcome).already) == 1
    assert len(site.sigstore.signed) == 2
    assert staged(site).items() >= first.items()
    assert set(staged(site)) == SIDECARS


def test_a_login_that_ends_half_way_is_still_called_a_login() -> None:
    site = a_signing_site()

    def expire(request: str, key: str) -> None:
        if request == "sign" and site.sigstore.signed:
            raise LoginError("the certificate is over")

    site.sigstore.before = expire
    with pytest.raises(LoginError, match="1 of 2 artifacts are signed") as caught:
        site.sign()
    assert caught.value.next_step == "run the same command again"


def count_requests() -> int:
    site = a_signing_site()
    seen: list[str] = []
    site.s3.before = lambda request, key: seen.append(request)
    site.sign()
    return len(seen)


@pytest.mark.parametrize("number", range(count_requests()))
def test_a_crash_before_any_request_leaves_nothing_half_and_a_rerun_signs_the_rest(number: int) -> None:
    site = a_signing_site()
    seen = 0

    def die(request: str, key: str) -> None:
        nonlocal seen
        seen += 1
        if seen > number:
            raise CrashError

    site.s3.before = die
    with pytest.raises(CrashError):
        site.sign()
    bundles = {key: data for key, data in staged(site).items() if key.endswith(".sigstore")}
    site.s3.before = lambda request, key: None
    site.s3.tick(121)
    before = len(site.sigstore.signed)

    assert site.sign().status == Exit.DONE

    assert set(staged(site)) == SIDECARS
    for key in (TGZ, PKG):
        verify(site, key, DIGESTS[key])
    assert staged(site).items() >= bundles.items(), "a bundle that was good was replaced"
    assert len(site.sigstore.signed) - before == 2 - len(bundles)


@pytest.mark.parametrize("lost", [".sig", ".crt"])
def test_what_repeats_a_good_bundle_is_made_from_it_without_login_or_signature(lost: str) -> None:
    site = a_signing_site()
    site.sign()
    before = staged(site)
    site.s3.staging.store(f"{PREFIX}{TGZ}{lost}", None)
    site.s3.staging.store(f"{PREFIX}{PKG}{lost}", b"something else")
    site.sigstore.signed.clear()

    outcome = site.sign()

    assert set(told(outcome).signed) == {TGZ, PKG}
    assert (site.sigstore.logins, site.sigstore.signed) == (1, [])
    assert staged(site) == before


def test_a_bundle_that_its_builder_delivered_is_taken_and_never_replaced() -> None:
    site = a_signing_site()
    bundle = stage_bundle(site, TGZ, DIGESTS[TGZ], prefix=f"linux/{RELEASE}/")
    verdict = site.sigstore.verify(bundle, Digest(DIGESTS[TGZ]), [RM])
    for suffix, data in (
        (".sig", getattr(verdict, "signature", b"")),
        (".crt", getattr(verdict, "certificate", b"")),
    ):
        site.stage("linux", {f"{TGZ}{suffix}": data})
    site.hand_over("linux")
    site.s3.writes.clear()

    outcome = site.sign()

    assert told(outcome) == SignedRelease(RELEASE, signed=(PKG,), already=(TGZ,), waiting=())
    assert site.sigstore.signed == [DIGESTS[PKG]]
    assert not any(TGZ in name for _, name in site.s3.writes)
    assert isinstance(site.promote(), Promoted)
    assert site.public()[f"{TGZ}.sigstore"] == of_bytes(bundle)


def test_a_bundle_that_its_builder_delivered_for_another_file_is_refused_and_not_replaced() -> None:
    site = a_signing_site()
    stage_bundle(site, TGZ, DIGESTS[PKG], prefix=f"linux/{RELEASE}/")
    site.hand_over("linux")

    site.sign()

    assert not any(TGZ in key for key in staged(site))
    outcome = site.promote()
    assert isinstance(outcome, Refused)
    assert {refusal.rule for refusal in outcome.refusals} == {"signature"}
    [bad] = [refusal for refusal in outcome.refusals if refusal.subject == f"{TGZ}.sigstore"]
    assert bad.cure == "linux makes it again, uploads it and hands over again"


def test_what_has_a_public_bundle_is_never_signed_again() -> None:
    site = a_signing_site()
    site.sign()
    site.promote()
    # Whatever became of the copies in staging.
    site.s3.staging.expire("_rm/")
    site.s3.writes.clear()
    site.sigstore.signed.clear()
    logins = site.sigstore.logins

    outcome = site.sign()

    assert set(told(outcome).already) == {TGZ, PKG}
    assert (site.sigstore.signed, site.sigstore.logins, site.s3.writes) == ([], logins, [])


def test_a_late_file_of_a_live_release_is_signed_alone() -> None:
    site = a_signing_site()
    site.s3.staging.expire("mac/")
    site.sign()
    site.stage_all()
    site.sigstore.signed.clear()

    outcome = site.sign()

    assert told(outcome) == SignedRelease(RELEASE, signed=(PKG,), already=(TGZ,), waiting=())
    assert site.sigstore.signed == [DIGESTS[PKG]]


@pytest.mark.parametrize("login", [OTHER, Identity(RM.name, "https://other.example.org")])
def test_a_login_whose_signature_would_not_count_is_refused_before_anything_is_signed(
    login: Identity,
) -> None:
    site = a_signing_site()
    site.sigstore.login = login

    outcome = site.sign()

    assert isinstance(outcome, Refused)
    assert outcome.status == Exit.REFUSED
    assert not outcome.waivable
    (refusal,) = outcome.refusals
    assert (refusal.rule, refusal.subject) == ("identity", RELEASE)
    assert refusal.found == f"a login as {login}"
    assert refusal.expected == str(RM)
    assert site.sigstore.signed == []
    assert staged(site) == {}


def test_nobody_logged_in_is_an_error_before_the_lease_is_taken() -> None:
    site = a_signing_site()
    site.sigstore.login = None
    site.s3.writes.clear()

    with pytest.raises(LoginError) as caught:
        site.sign()

    assert caught.value.exit_status == Exit.FAILED
    assert site.s3.writes == []


def test_what_is_not_handed_over_is_not_signed_and_waits() -> None:
    site = Site(profile_text=a_signing_site().profile_text)
    site.open()
    site.stage_all()
    site.s3.staging.expire(f"mac/{RELEASE}/SHA256SUMS")

    outcome = site.sign()

    assert told(outcome) == SignedRelease(RELEASE, signed=(TGZ,), already=(), waiting=(PKG,))
    assert site.sigstore.signed == [DIGESTS[TGZ]]


def test_what_was_handed_over_with_another_digest_is_not_signed() -> None:
    site = a_signing_site()
    site.stage("linux", {TGZ: b"something else"})

    outcome = site.sign()

    assert told(outcome) == SignedRelease(RELEASE, signed=(PKG,), already=(), waiting=(TGZ,))


def test_a_bundle_that_does_not_verify_is_an_error_and_not_stored() -> None:
    site = a_signing_site()
    site.sigstore.distrusts = True

    with pytest.raises(SigningError, match="is not good: found a forged log entry, expected") as caught:
        site.sign()

    assert caught.value.next_step == "trust root too old?"
    assert staged(site) == {}


def test_a_release_that_is_not_open_is_refused() -> None:
    site = Site(profile_text=a_signing_site().profile_text)
    site.stage_all()

    outcome = site.sign()

    assert isinstance(outcome, Refused)
    assert [refusal.rule for refusal in outcome.refusals] == ["not-open"]
    assert (site.sigstore.logins, staged(site)) == (0, {})


def test_a_series_for_which_nobody_may_sign_is_refused() -> None:
    site = Site(profile_text=a_signing_site().profile_text)
    site.open("1.3.0")
    site.stage_all(release="1.3.0")

    outcome = site.sign("1.3.0")

    assert isinstance(outcome, Refused)
    assert [(refusal.rule, refusal.found) for refusal in outcome.refusals] == [
        ("identity", "no identity that may sign for series 1.3")
    ]
    assert site.sigstore.logins == 0


def test_what_is_no_release_is_misuse() -> None:
    with pytest.raises(UsageError):
        a_signing_site().sign("nonsense")


def test_the_lease_of_another_run_is_respected() -> None:
    site = a_signing_site()

    with hold_lease(site.world("ann"), "promote 1.2.3"), pytest.raises(LeaseError, match="user/ann") as got:
        site.sign()

    assert got.value.exit_status == Exit.REFUSED
    assert staged(site) == {}
    assert told(site.sign()).signed


def test_a_lease_that_is_lost_on_the_way_stops_it() -> None:
    site = a_signing_site()

    def lose(request: str, key: str) -> None:
        if request == "sign":
            site.s3.before = lambda request, key: None
            site.s3.tick(121)
            with hold_lease(site.world("ann"), "promote 1.2.3"):
                pass

    site.s3.before = lose
    with pytest.raises(LeaseError):
        site.sign()
    assert staged(site) == {}


def test_who_interrupts_it_is_told_how_far_it_came() -> None:
    site = a_signing_site()

    def interrupt(request: str, key: str) -> None:
        if request == "sign" and site.sigstore.signed:
            raise KeyboardInterrupt

    site.sigstore.before = interrupt
    with pytest.raises(StoppedError, match="interrupted: 1 of 2 artifacts are signed"):
        site.sign()
    site.sigstore.before = lambda request, key: None
    assert len(told(site.sign()).signed) == 1


def test_a_project_that_signs_nothing_has_nothing_to_sign() -> None:
    site = Site(profile_text=PROFILE)
    site.open()
    site.stage_all()

    outcome = site.sign()

    assert told(outcome) == SignedRelease(RELEASE, signed=(), already=(), waiting=())
    assert site.sigstore.logins == 0


def test_two_releases_are_signed_with_one_login() -> None:
    site = a_signing_site()
    site.open("1.2.4")
    site.stage_all(release="1.2.4")

    outcome = site.sign(RELEASE, "1.2.4")

    assert isinstance(outcome, SignedReleases)
    assert [len(found.signed) for found in outcome.releases] == [2, 2]
    assert site.sigstore.logins == 1


def test_an_artifact_signed_by_somebody_else_is_signed_again() -> None:
    site = a_signing_site()
    stage_bundle(site, TGZ, DIGESTS[TGZ], signer=OTHER)

    outcome = site.sign()

    assert set(told(outcome).signed) == {TGZ, PKG}
    verify(site, TGZ, DIGESTS[TGZ])


def test_bundles_are_documents_of_their_own() -> None:
    """No two signatures are alike, so that signing twice would show."""
    site = a_signing_site()
    one, two = (FakeSigner(site.sigstore, RM).sign(Digest(DIGESTS[TGZ])) for _ in range(2))

    assert one != two
    assert json.loads(one)["digest"] == json.loads(two)["digest"]


def test_an_error_of_a_store_is_no_error_of_signing() -> None:
    site = a_signing_site()

    def fail(request: str, key: str) -> None:
        if request == "put":
            raise PublisherError("the line is dead")

    site.s3.before = fail
    with pytest.raises(PublisherError, match="the line is dead") as caught:
        site.sign()
    assert not isinstance(caught.value, SigningError)
