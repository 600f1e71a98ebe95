"""Sharing a staged file by a link: on record first, for some hours, and the link kept nowhere."""

from dataclasses import replace
from datetime import timedelta

import pytest

from publisher.commands import share
from publisher.core.digests import of_bytes
from publisher.core.plan import Version
from publisher.core.share import Share
from publisher.documents.state import decode
from publisher.errors import StoreError, UsageError
from publisher.outcomes import Outcome, Refused, Shared
from publisher.ports import Session
from tests.support.fakes import FakeCaller
from tests.support.site import PKG, RELEASE, TGZ, Site

RM = "arn:aws:iam::123456789012:user/rm"


def a_site() -> Site:
    site = Site()
    site.open()
    site.stage_all()
    return site


def run(
    site: Site,
    name: str = TGZ,
    *,
    hours: int = 24,
    reason: str = "Ann tries it",
    session: Session | None = None,
    release: str = RELEASE,
) -> Outcome:
    world = replace(site.world(), caller=FakeCaller(session=session))
    return share.run(world, share.ShareRequest(release, name, hours, reason))


def shared(outcome: Outcome) -> Shared:
    assert isinstance(outcome, Shared), outcome
    return outcome


def test_a_share_is_written_down_with_everything_but_the_link() -> None:
    site = a_site()
    stored = site.s3.staging.current(f"linux/{RELEASE}/{TGZ}")
    assert stored is not None
    assert stored.data is not None

    outcome = shared(run(site))

    kept = site.s3.staging.current(outcome.record)
    assert kept is not None
    assert kept.data is not None
    record = decode(Share, kept.data, outcome.record)
    assert record == outcome.share
    assert outcome.record == f"_state/shares/{record.id}.json"
    assert (record.who, record.reason, record.role, record.key) == (RM, "Ann tries it", "linux", TGZ)
    assert (record.version_id, record.digest) == (stored.version_id, of_bytes(stored.data))
    assert (record.when, record.until) == (site.s3.clock, site.s3.clock + timedelta(hours=24))
    assert (record.session, record.session_until) == (False, None)
    assert outcome.url.endswith(f"/linux/{RELEASE}/{TGZ}?versionId={stored.version_id}&for=86400")
    assert b"https://" not in kept.data
    assert outcome.url not in repr(outcome)


def test_a_share_that_cannot_be_written_down_gives_no_link(monkeypatch: pytest.MonkeyPatch) -> None:
    site = a_site()
    signed: list[str] = []

    def sign(source: Version, seconds: int) -> str:
        signed.append(source.key)
        return ""

    monkeypatch.setattr(site.s3.staging, "sign_link", sign)

    def fail(request: str, key: str) -> None:
        if request == "create":
            raise StoreError("the line is dead")

    site.s3.before = fail
    with pytest.raises(StoreError):
        run(site)
    assert signed == []


def test_an_answer_that_was_lost_makes_no_second_record() -> None:
    site = a_site()
    site.s3.lose_answer_of = len(site.s3.writes)

    outcome = shared(run(site))

    assert site.state("_state/shares/") == [outcome.record]


@pytest.mark.parametrize("known", [True, False])
def test_the_end_of_the_session_that_signed_is_written_down_as_far_as_it_is_known(known: bool) -> None:
    site = a_site()
    until = site.s3.clock + timedelta(hours=1) if known else None

    record = shared(run(site, session=Session(until))).share

    assert (record.session, record.session_until) == (True, until)


def test_a_file_without_a_digest_in_the_store_is_read_once() -> None:
    site = a_site()
    site.s3.staging.mark_deleted(f"linux/{RELEASE}/SHA256SUMS")
    site.s3.staging.store(f"linux/{RELEASE}/{TGZ}", b"in parts", whole=False)

    assert shared(run(site)).share.digest == of_bytes(b"in parts")


@pytest.mark.parametrize("name", [f"tool-{RELEASE}.pkg", PKG])
def test_a_key_or_the_end_of_one_names_the_file(name: str) -> None:
    assert shared(run(a_site(), name)).share.key == PKG


def test_the_release_managers_sidecars_can_be_shared_too() -> None:
    site = a_site()
    site.stage("_rm", {f"{TGZ}.sig": b"signature"})

    assert shared(run(site, f"{TGZ}.sig")).share.role == "_rm"


@pytest.mark.parametrize("hours", [0, -1, 169])
def test_hours_are_from_1_to_a_week(hours: int) -> None:
    site = a_site()

    with pytest.raises(UsageError, match=f"found {hours} hours"):
        run(site, hours=hours)
    assert site.state("_state/shares/") == []
    assert shared(run(site, hours=168)).share.until - site.s3.clock == timedelta(days=7)


def test_a_reason_is_needed() -> None:
    with pytest.raises(UsageError, match="empty reason"):
        run(a_site(), reason=" ")


@pytest.mark.parametrize("role", ["linux", "_rm"])
def test_a_whole_role_is_not_shared(role: str) -> None:
    with pytest.raises(UsageError, match="expected one file"):
        run(a_site(), role)


def test_a_misspelt_file_or_release_is_a_misuse_with_a_suggestion() -> None:
    with pytest.raises(UsageError) as caught:
        run(a_site(), f"tool-{RELEASE}.tgs")
    assert f"tool-{RELEASE}.tgz" in caught.value.next_step
    with pytest.raises(UsageError) as caught:
        run(a_site(), release="1.2.3.0")
    assert caught.value.next_step == f"did you mean {RELEASE}?"


def test_what_is_not_staged_or_in_doubt_is_not_shared() -> None:
    site = a_site()
    site.stage("linux", {TGZ: b"changed after the hand-over"})

    for outcome in (run(site), run(Site(), PKG)):
        assert isinstance(outcome, Refused)
        assert not outcome.waivable
    assert site.state("_state/shares/") == []
