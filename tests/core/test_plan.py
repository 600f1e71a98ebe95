"""The plan's digest, which a release manager reviews and pins, and going on with an earlier plan."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from publisher.core.contents import list_contents
from publisher.core.digests import of_bytes
from publisher.core.plan import Extras, Look, Plan, PlannedFile, PlannedRelease, find_plan
from publisher.core.profile import Delivery, PublicRecord, Signal
from publisher.core.refusals import Refusal
from tests.support.builders import (
    BINARY,
    COMMIT,
    EXE,
    NOON,
    RELEASE,
    SIGNER,
    TGZ,
    a_file,
    a_plan,
    a_profile,
    a_release,
    a_waiver,
)

FILES = st.lists(
    st.builds(a_file, st.sampled_from(["a", "b", "c", "d"]), st.text(max_size=3)),
    min_size=1,
    unique_by=lambda file: file.key,
)
PLAN = a_plan(a_file(TGZ, "tool"), a_file(EXE, "setup"), waivers=(a_waiver("missing:*"),))
OTHER_FILE = a_file("1.2.0/other")


def change_file(change: Callable[[PlannedFile], PlannedFile]) -> Plan:
    return replace(PLAN, files=(change(PLAN.files[0]), *PLAN.files[1:]))


def change_release(change: Callable[[PlannedRelease], PlannedRelease]) -> Plan:
    return replace(PLAN, releases=tuple(change(release) for release in PLAN.releases))


@given(FILES.flatmap(lambda files: st.tuples(st.just(files), st.permutations(files))))
def test_the_order_of_files_does_not_matter(orders: tuple[list[PlannedFile], list[PlannedFile]]) -> None:
    one, other = orders

    assert a_plan(*one).digest == a_plan(*other).digest


@given(FILES, FILES)
def test_two_plans_have_one_digest_only_if_they_publish_the_same(
    one: list[PlannedFile], other: list[PlannedFile]
) -> None:
    assume(sorted(one, key=str) != sorted(other, key=str))

    assert a_plan(*one).digest != a_plan(*other).digest


def test_the_digest_is_shown_as_one() -> None:
    assert PLAN.digest.startswith("sha256:")
    assert len(PLAN.digest) == len("sha256:") + 64


@pytest.mark.parametrize(
    "plan",
    [
        replace(PLAN, id="p2"),
        replace(PLAN, who="somebody else"),
        replace(PLAN, when=NOON + timedelta(days=1)),
        replace(PLAN, files=PLAN.files[::-1]),
        replace(PLAN, looks=(Look("x", None),)),
        change_release(lambda release: replace(release, number=2)),
    ],
    ids=["id", "who", "when", "order", "looks", "number"],
)
def test_the_digest_says_nothing_of_ids_people_times_and_order(plan: Plan) -> None:
    assert plan != PLAN
    assert plan.digest == PLAN.digest


@pytest.mark.parametrize(
    "plan",
    [
        change_file(lambda file: replace(file, key="1.2.0/renamed")),
        change_file(lambda file: replace(file, digest=of_bytes(b"other"))),
        change_file(lambda file: replace(file, size=file.size + 1)),
        change_file(lambda file: replace(file, source=replace(file.source, version_id="v2"))),
        change_file(lambda file: replace(file, source=replace(file.source, key="windows/1.2.0/x"))),
        replace(PLAN, files=(*PLAN.files, OTHER_FILE)),
        replace(PLAN, files=PLAN.files[:1]),
        replace(PLAN, waivers=()),
        replace(PLAN, waivers=(a_waiver("extra:*"),)),
        replace(PLAN, waivers=(a_waiver("missing:windows/1.2.0"),)),
        replace(PLAN, waivers=(a_waiver("missing:*", reason="another"),)),
        change_release(lambda release: replace(release, name="1.2.1")),
        change_release(lambda release: replace(release, commit="d" * 40)),
        change_release(lambda release: replace(release, commit=None)),
        change_release(lambda release: replace(release, attempt=2)),
        replace(PLAN, releases=(*PLAN.releases, PlannedRelease("1.2.1", COMMIT, 1, 1))),
    ],
    ids=[
        "key",
        "digest",
        "size",
        "version",
        "source",
        "added file",
        "removed file",
        "no waiver",
        "waived rule",
        "waived subject",
        "reason",
        "release",
        "commit",
        "no commit",
        "attempt",
        "added release",
    ],
)
def test_any_change_of_what_is_published_or_waived_changes_the_digest(plan: Plan) -> None:
    assert plan.digest != PLAN.digest


def test_a_plan_knows_its_size_and_releases() -> None:
    plan = a_plan(a_file(TGZ, "four"), a_file(EXE, "eleven 1234"), releases=(RELEASE, "1.2.1"))

    assert plan.size == 15
    assert plan.names() == {RELEASE, "1.2.1"}


def test_an_earlier_plan_by_somebody_else_can_be_gone_on_with() -> None:
    earlier = replace(PLAN, id="p0", who="somebody else", when=NOON - timedelta(days=1))

    assert PLAN.continues(earlier)
    assert find_plan(PLAN, [a_plan(), earlier]) is earlier


@pytest.mark.parametrize(
    "earlier",
    [
        replace(PLAN, files=PLAN.files[:1]),
        replace(PLAN, looks=(Look("_hold/qa/1.2.0", "v1"),)),
        replace(PLAN, profile_digest="01"),
        change_file(lambda file: replace(file, delivery=replace(file.delivery, content_type="text/plain"))),
        change_release(lambda release: replace(release, number=2)),
        change_release(lambda release: replace(release, identities=(SIGNER,))),
        change_release(lambda release: replace(release, recorders=(SIGNER,))),
        change_release(lambda release: replace(release, record=PublicRecord("1.2.0/record-1", BINARY))),
        change_release(lambda release: replace(release, contents=list_contents(a_profile(), a_release()))),
        change_release(lambda release: replace(release, signals=(Signal("tag", "https://x.org/1.2.0"),))),
        replace(PLAN, extras=Extras(prose="Enjoy!")),
        replace(PLAN, extras=Extras(create_release=True)),
    ],
    ids=[
        "files",
        "looks",
        "profile",
        "content type",
        "number",
        "identities",
        "recorders",
        "record",
        "contents",
        "signals",
        "prose",
        "release row",
    ],
)
def test_an_earlier_plan_that_would_do_anything_else_is_not_gone_on_with(earlier: Plan) -> None:
    assert not PLAN.continues(earlier)
    assert find_plan(PLAN, [earlier]) is None


def test_a_plan_names_what_another_rests_on_in_another_version_or_not_at_all() -> None:
    plan = replace(PLAN, looks=(Look("a", "v1"), Look("b", None), Look("c", "v3")))
    other = replace(PLAN, looks=(Look("a", "v2"), Look("b", None)))

    assert plan.find_moved(other) == ("a", "c")
    assert plan.find_moved(plan) == ()


def test_what_is_waived_and_how_files_are_served_are_part_of_the_digest() -> None:
    refusal = Refusal("hold", f"qa/{RELEASE}", "a hold by qa: the icon is blurry", "no hold", "cure it")
    waived = replace(PLAN, waived=(refusal,))
    worse = replace(PLAN, waived=(replace(refusal, found="a hold by qa: it wipes the disk"),))
    served = change_file(lambda file: replace(file, delivery=Delivery("x/y", "immutable", "no-store")))

    assert len({PLAN.digest, waived.digest, worse.digest, served.digest}) == 4


def test_a_plan_by_another_profile_is_another_intent() -> None:
    plan = a_plan(a_file())

    assert replace(plan, profile_digest="01").digest != plan.digest
    assert replace(plan, id="p2", who="somebody else").digest == plan.digest
