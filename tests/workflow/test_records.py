"""The record of a promotion: who is logged in when; signed once, stored, and public as it is stored."""

import base64
import json
from collections.abc import Callable

import pytest

from publisher.core.identity import Identity
from publisher.core.promotions import Record
from publisher.core.refusals import Waiver
from publisher.documents.statement import extract_payload, read_statement
from publisher.errors import ConflictError, Exit, LoginError, SigningError, UnfinishedError
from publisher.outcomes import Promoted, Refused
from tests.support.sigstore_fake import RM, FakeSigner
from tests.support.site import COMMIT, FIRST_RECORD, PKG, PROFILE, RELEASE, TGZ, Site, expected_public

OTHER = Identity("other@example.org", RM.issuer)
SECOND = "1.2.4"


class CrashError(BaseException):
    """The process is gone."""


def a_ready_site() -> Site:
    site = Site()
    site.open()
    site.stage_all()
    return site


def read_record(site: Site, name: str = f"{RELEASE}/1") -> Record:
    record = read_statement(extract_payload(site.stored_records()[name], name), name)
    assert isinstance(record, Record)
    return record


def stop_at(site: Site, wanted: Callable[[str, str], bool]) -> None:
    """Let the process die just before that request, and revive it after its lease has expired."""
    dead = False

    def die(request: str, key: str) -> None:
        nonlocal dead
        dead = dead or wanted(request, key)
        if dead:
            raise CrashError

    site.s3.before = die
    with pytest.raises(CrashError):
        site.promote()
    site.s3.before = lambda request, key: None
    site.s3.tick(121)


def check_recorded(site: Site) -> None:
    assert site.public() == expected_public()
    assert list(site.stored_records()) == [f"{RELEASE}/1"]
    assert site.public_records() == site.stored_records()
    assert len(site.state("/done.json")) == 1


# --- What it says ----------------------------------------------------------------------------------------


def test_a_record_says_what_was_made_public_by_whom_and_is_signed_by_the_release_manager() -> None:
    site = a_ready_site()
    site.s3.staging.store(f"_hold/qa/{RELEASE}", b"the icon is blurry")
    waiver = Waiver("hold", f"qa/{RELEASE}", "it is only the icon")

    outcome = site.promote(waivers=(waiver,))

    assert isinstance(outcome, Promoted)
    assert outcome.plan is not None
    record = read_record(site)
    assert (record.promotion, record.release, record.number) == (outcome.plan.id, RELEASE, 1)
    assert (record.releases, record.commit, record.attempt) == ((RELEASE,), COMMIT, 1)
    assert {file.key: file.digest for file in record.files} == expected_public()
    assert {file.source.version_id for file in record.files} == {
        found.version_id
        for key in (f"linux/{RELEASE}/{TGZ}", f"mac/{RELEASE}/{PKG}")
        if (found := site.s3.staging.current(key))
    }
    assert record.waivers == (waiver,)
    assert [refusal.rule for refusal in record.waived] == ["hold"]
    assert record.plan_digest == outcome.plan.digest
    assert record.identities == (RM,)
    assert record.promoter == record.finisher == "arn:aws:iam::123456789012:user/rm"
    bundle = json.loads(site.stored_records()[f"{RELEASE}/1"])
    assert (bundle["name"], bundle["issuer"]) == (RM.name, RM.issuer)
    statement = json.loads(base64.b64decode(bundle["dsseEnvelope"]["payload"]))
    assert {found["name"]: found["digest"]["sha256"] for found in statement["subject"]} == expected_public()


def test_a_public_record_has_the_delivery_that_the_profile_gives() -> None:
    site = a_ready_site()
    site.promote()

    found = site.s3.public.current(FIRST_RECORD)

    assert found is not None
    assert found.delivery is not None
    assert found.delivery.cache_control == "public, max-age=31536000, immutable"


def test_each_release_of_a_promotion_has_its_own_record() -> None:
    site = a_ready_site()
    site.open(SECOND)
    site.stage_all(release=SECOND)

    site.promote(RELEASE, SECOND)

    assert site.public_records() == site.stored_records()
    assert set(site.stored_records()) == {f"{RELEASE}/1", f"{SECOND}/1"}
    for name in (RELEASE, SECOND):
        record = read_record(site, f"{name}/1")
        assert {file.key for file in record.files} == set(expected_public(release=name))
        assert record.releases == (RELEASE, SECOND)
    assert site.sigstore.logins == 1


# --- Who is logged in when -------------------------------------------------------------------------------


def test_the_login_is_asked_for_before_the_lease_and_before_anything_is_public() -> None:
    site = a_ready_site()
    seen: list[tuple[str, str]] = []
    site.s3.before = lambda request, key: seen.append((request, key))

    site.promote()

    requests = [request for request, _ in seen]
    writes = {"create", "replace", "put", "update", "copy", "place"}
    assert requests.index("login") < min(requests.index(write) for write in writes if write in requests)
    assert requests.count("login") == 1


def test_nobody_logged_in_makes_nothing_public() -> None:
    site = a_ready_site()
    site.sigstore.login = None
    site.s3.writes.clear()

    with pytest.raises(LoginError) as caught:
        site.promote()

    assert caught.value.exit_status == Exit.FAILED
    assert site.s3.writes == []
    assert (site.public(), site.live()) == ({}, set())


@pytest.mark.parametrize("login", [OTHER, Identity(RM.name, "https://other.example.org")])
def test_who_may_not_sign_the_record_is_refused_before_anything_is_public(login: Identity) -> None:
    site = a_ready_site()
    site.sigstore.login = login
    site.s3.writes.clear()

    outcome = site.promote()

    assert isinstance(outcome, Refused)
    assert outcome.status == Exit.REFUSED
    assert [(refusal.rule, refusal.subject) for refusal in outcome.refusals] == [("identity", RELEASE)]
    assert outcome.refusals[0].found == f"a login as {login}"
    assert site.s3.writes == []


def test_who_may_sign_records_alone_may_promote() -> None:
    text = PROFILE.replace(
        b"[record]",
        b'records = [{ name = "other@example.org", issuer = "https://accounts.example.org" }]\n\n[record]',
    )
    site = Site(profile_text=text)
    site.open()
    site.stage_all()
    site.sigstore.login = OTHER

    assert isinstance(site.promote(), Promoted)
    check_recorded(site)
    assert json.loads(site.stored_records()[f"{RELEASE}/1"])["name"] == OTHER.name


def test_a_dry_run_and_a_run_without_anything_to_do_need_no_login() -> None:
    site = a_ready_site()
    site.promote(dry_run=True)
    assert site.sigstore.logins == 0
    site.promote()
    site.sigstore.login = None

    assert isinstance(site.promote(), Promoted)
    assert site.sigstore.logins == 1


def test_what_is_refused_is_refused_before_anybody_logs_in() -> None:
    site = a_ready_site()
    site.s3.staging.store(f"_hold/qa/{RELEASE}", b"wait")

    assert isinstance(site.promote(), Refused)
    assert site.sigstore.logins == 0


@pytest.mark.parametrize("error", [LoginError("the certificate is over"), SigningError("no answer")])
def test_a_login_that_is_over_by_the_time_of_the_record_leaves_the_record_to_the_next_run(
    error: SigningError,
) -> None:
    site = a_ready_site()
    site.sigstore.broken = error

    with pytest.raises(UnfinishedError, match=f"is live and not finished: {error}") as caught:
        site.promote()

    assert caught.value.exit_status == Exit.UNFINISHED
    assert site.public() == expected_public()
    assert set(site.s3.gate.entries) == {"owner"}
    assert (site.stored_records(), site.public_records(), site.state("/done.json")) == ({}, {}, [])
    site.sigstore.broken = None
    outcome = site.promote()
    assert isinstance(outcome, Promoted)
    assert len(outcome.finished) == 1
    check_recorded(site)


def test_a_live_promotion_is_finished_without_a_login_but_for_the_record() -> None:
    site = a_ready_site()
    stop_at(site, lambda request, key: request == "place" and key == TGZ)
    site.sigstore.login = None

    with pytest.raises(UnfinishedError, match=f"record 1 of {RELEASE} is to be signed, and nobody") as caught:
        site.promote()

    assert caught.value.next_step.startswith("log in")
    assert site.observer.warnings == ["the record cannot be signed: nobody is logged in"]
    assert site.public() == expected_public()
    assert set(site.s3.gate.entries) == {"owner"}
    assert (site.stored_records(), site.state("/done.json")) == ({}, [])
    site.sigstore.login = RM
    assert isinstance(site.promote(), Promoted)
    check_recorded(site)


def test_a_live_promotion_is_finished_by_somebody_else_but_for_the_record() -> None:
    site = a_ready_site()
    stop_at(site, lambda request, key: request == "place" and key == TGZ)
    site.sigstore.login = OTHER

    with pytest.raises(UnfinishedError, match="is to be signed"):
        site.promote()

    assert site.observer.warnings == [f"the record cannot be signed: found a login as {OTHER}, expected {RM}"]
    assert site.public() == expected_public()
    assert site.stored_records() == {}


def test_who_may_sign_is_what_was_so_when_the_plan_was_made() -> None:
    site = a_ready_site()
    stop_at(site, lambda request, key: request == "place" and key == TGZ)
    # Meanwhile another release manager is entered in the profile, and this one is not in it any more.
    site.profile_text = PROFILE.replace(b"rm@example.org", b"other@example.org")

    assert isinstance(site.promote(), Promoted)
    check_recorded(site)


# --- Signed once -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wanted",
    [("create", FIRST_RECORD), ("create", "done.json")],
    ids=["before its public copy", "before the end"],
)
def test_a_record_that_is_stored_is_published_as_it_is_and_needs_no_login(wanted: tuple[str, str]) -> None:
    site = a_ready_site()
    stop_at(site, lambda request, key: request == wanted[0] and key.endswith(wanted[1]))
    stored = site.stored_records()
    assert len(stored) == 1
    site.sigstore.login = None

    outcome = site.promote()

    assert isinstance(outcome, Promoted)
    assert site.stored_records() == stored
    assert site.sigstore.signed == ["statement"]
    assert site.observer.warnings == []
    check_recorded(site)


def test_of_two_who_sign_the_record_at_once_the_first_one_counts() -> None:
    site = a_ready_site()
    first: dict[str, bytes] = {}

    def meddle(request: str, key: str) -> None:
        if request == "create" and key.endswith("/records/1.2.3/1.json"):
            site.s3.before = lambda request, key: None
            # Another run, which lost the lease since, has signed the very same record.
            site.s3.tick(121)
            site.promote()
            first.update(site.stored_records())

    site.s3.before = meddle
    with pytest.raises(UnfinishedError):
        site.promote()

    assert len(site.sigstore.signed) == 2
    assert site.stored_records() == first
    check_recorded(site)


def test_a_record_of_another_promotion_is_an_error_and_stays() -> None:
    site = a_ready_site()
    stop_at(site, lambda request, key: request == "sign")
    other = a_ready_site()
    other.promote()
    foreign = other.stored_records()[f"{RELEASE}/1"]
    statement = json.loads(extract_payload(foreign, "x"))
    statement["predicate"]["promotion"] = "f" * 32
    planted = FakeSigner(site.sigstore, RM).sign_statement(json.dumps(statement).encode())
    site.s3.staging.store(f"_state/records/{RELEASE}/1.json", planted)

    with pytest.raises(UnfinishedError, match=f"record 1 of {RELEASE} is of another promotion") as caught:
        site.promote()

    assert caught.value.next_step
    assert site.stored_records() == {f"{RELEASE}/1": planted}
    assert site.public_records() == {}


def test_a_record_that_does_not_verify_is_not_stored() -> None:
    site = a_ready_site()
    site.sigstore.distrusts = True

    with pytest.raises(UnfinishedError, match="the record that was signed is not good: found a forged log"):
        site.promote()

    assert (site.stored_records(), site.public_records()) == ({}, {})
    assert site.public() == expected_public()


def test_a_foreign_object_at_the_records_key_is_not_overwritten() -> None:
    site = a_ready_site()

    def plant(request: str, key: str) -> None:
        if request == "place":
            site.s3.public.store(FIRST_RECORD, b"foreign")

    site.s3.before = plant
    with pytest.raises(UnfinishedError, match="expected the record that is stored") as caught:
        site.promote()

    assert caught.value.exit_status == Exit.UNFINISHED
    assert site.public_records() == {f"{RELEASE}/1": b"foreign"}
    site.s3.before = lambda request, key: None
    site.s3.public.expire(FIRST_RECORD)
    assert isinstance(site.promote(), Promoted)
    assert site.sigstore.signed == ["statement"]
    check_recorded(site)


def test_a_foreign_object_at_the_records_key_that_is_there_before_is_refused() -> None:
    site = a_ready_site()
    site.s3.public.store(FIRST_RECORD, b"foreign")

    outcome = site.promote()

    assert isinstance(outcome, Refused)
    assert [(refusal.rule, refusal.subject) for refusal in outcome.refusals] == [("key", FIRST_RECORD)]
    assert site.public() == {}


def test_a_public_copy_that_can_never_be_created_is_an_error_and_no_success() -> None:
    site = a_ready_site()

    def refuse(request: str, key: str) -> None:
        if request == "create" and key == FIRST_RECORD:
            raise ConflictError("409 ConditionalRequestConflict")

    site.s3.before = refuse
    with pytest.raises(UnfinishedError, match=f"{FIRST_RECORD} could not be created"):
        site.promote()
    assert site.state("/done.json") == []


# --- Unsigned --------------------------------------------------------------------------------------------


def test_a_record_is_unsigned_only_where_the_configuration_says_so_and_with_a_warning() -> None:
    site = Site(signed_records=False)
    site.open()
    site.stage_all()
    site.sigstore.login = None

    assert isinstance(site.promote(), Promoted)

    check_recorded(site)
    statement = json.loads(site.stored_records()[f"{RELEASE}/1"])
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert site.observer.warnings == [f"record 1 of {RELEASE} is not signed: publisher.toml says so"]
    assert site.sigstore.logins == 0


def test_signed_records_come_without_a_warning() -> None:
    site = a_ready_site()

    site.promote()

    assert site.observer.warnings == []


def test_a_project_in_which_nobody_may_sign_records_needs_unsigned_ones() -> None:
    nobody = PROFILE.replace(
        b'accepted = [{ name = "rm@example.org", issuer = "https://accounts.example.org" }]', b""
    )
    for signed in (True, False):
        site = Site(profile_text=nobody, signed_records=signed)
        site.open()
        site.stage_all()
        outcome = site.promote()
        if signed:
            assert isinstance(outcome, Refused)
            assert [refusal.rule for refusal in outcome.refusals] == ["identity"]
            assert 'records = "unsigned"' in outcome.refusals[0].cure
        else:
            assert isinstance(outcome, Promoted)
