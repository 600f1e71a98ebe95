"""Two promoters, crashes, lost leases, re-spins and expiry in any order, against the real code on fakes.

One step is one request. Whatever the order, what must hold is checked after each; and from wherever the
world then stands, one run on a healthy machine comes to a clean end.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from greenlet import getcurrent, greenlet
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from publisher.commands import promote
from publisher.commands.open import run_respin
from publisher.core.plan import Plan
from publisher.core.promotions import Record
from publisher.documents.statement import extract_payload, read_statement
from publisher.errors import PublisherError
from publisher.outcomes import Outcome, Promoted
from tests.support.site import COMMIT, OTHER_COMMIT, RELEASE, Site, expected_public, say_yes


class CrashError(BaseException):
    """The process is gone."""


@dataclass
class Actor:
    """A person at a machine, running one command at a time, request by request."""

    name: str
    site: Site
    dead: bool = False
    task: greenlet | None = None
    ends: list[str] = field(default_factory=list[str])

    @property
    def busy(self) -> bool:
        return self.task is not None and not self.task.dead

    def start(self, command: Callable[[str], Outcome]) -> None:
        if self.busy:
            return
        self.dead = False
        self.task = greenlet(lambda: self._run(command))

    def step(self) -> None:
        """Let the next request happen, and stop before the one after it."""
        if self.task is not None and not self.task.dead:
            self.task.switch()

    def crash(self) -> None:
        self.dead = True
        self.step()

    def _run(self, command: Callable[[str], Outcome]) -> None:
        try:
            self.ends.append(type(command(self.name)).__name__)
        except PublisherError as error:
            self.ends.append(f"{type(error).__name__}: {error}")
        except CrashError:
            self.ends.append("crash")


class Model:
    """The site, its two release managers, and what has been seen of it so far."""

    def __init__(self) -> None:
        self.site = Site()
        self.site.open()
        self.site.stage_all()
        self.actors = [Actor(name, self.site) for name in ("ann", "bob")]
        self.respun = False
        self.seen: dict[str, str] = {}
        self.plans: dict[str, Plan] = {}
        self.records: dict[str, bytes] = {}
        self.site.s3.before = self._pause

    def _pause(self, request: str, key: str) -> None:
        """Before each request of an actor, give the turn back."""
        current = getcurrent()
        for actor in self.actors:
            if actor.task is current:
                if not actor.dead and current.parent is not None:
                    current.parent.switch()
                if actor.dead:
                    raise CrashError

    def act(self, kind: str, who: int, count: int) -> None:
        actor = self.actors[who]
        commands: dict[str, Callable[[], None]] = {
            "promote": lambda: actor.start(self._promote),
            "respin": lambda: actor.start(self._respin),
            "crash": actor.crash,
            # Long enough for every lease to count as expired, though its holder lives on.
            "sleep": lambda: self.site.s3.tick(121),
            "rebuild": self._rebuild,
            "expire": self._expire,
            "step": lambda: None,
        }
        commands[kind]()
        for _ in range(count):
            if not actor.busy:
                break
            actor.step()
            self.check()

    def _rebuild(self) -> None:
        if self.respun:
            return
        self.respun = True
        state = self.site.s3.staging.current(f"_state/releases/{RELEASE}.json")
        opened = OTHER_COMMIT if state and OTHER_COMMIT.encode() in (state.data or b"") else COMMIT
        # Builders build the commit that counts, or are late and build the one that no longer does.
        self.site.stage_all(b"second", commit=opened)

    def _expire(self) -> None:
        for role in ("linux", "mac"):
            self.site.s3.staging.expire(f"{role}/")

    def _promote(self, user: str) -> Outcome:
        return promote.run(self.site.world(user), promote.PromoteRequest((RELEASE,)), say_yes)

    def _respin(self, user: str) -> Outcome:
        return run_respin(self.site.world(user), RELEASE, OTHER_COMMIT, "a fault")

    def check(self) -> None:
        visible = self.site.visible()
        for key, digest in self.seen.items():
            assert visible.get(key) == digest, f"{key} was public and is now {visible.get(key)}"
        assert set(visible) in (set(), set(expected_public())), "some of it is public, some is not"
        self.seen = visible
        live = self._read_live()
        for digests in (visible, self.site.public()):
            for key, digest in digests.items():
                assert any(
                    (file.key, file.digest) == (key, digest) for plan in live for file in plan.files
                ), f"{key} is public and no promotion of it is live"
        assert len({tuple(sorted((f.key, f.digest) for f in plan.files)) for plan in live}) <= 1, (
            "two are live"
        )
        self._check_records({plan.id for plan in live})

    def _check_records(self, live: set[str]) -> None:
        """A record is of a promotion that is live, stays as it is, and is public only as it is stored."""
        stored = self.site.stored_records()
        for name, data in self.records.items():
            assert stored.get(name) == data, f"record {name} was written once and is another now"
        for name in stored.keys() - self.records.keys():
            assert read_record(stored[name], name).promotion in live, f"record {name} comes too early"
        self.records = stored
        for name, data in self.site.public_records().items():
            assert data == stored.get(name), f"the public record {name} is not the stored one"

    def _read_live(self) -> list[Plan]:
        live = self.site.live()
        with undisturbed(self.site):
            # A plan never changes once it is written.
            for promotion in live - self.plans.keys():
                self.plans[promotion] = self.site.world().state.read_plan(promotion)
        return [self.plans[promotion] for promotion in sorted(live)]

    def settle(self) -> None:
        """Let everybody die, and one person finish the work on a healthy machine."""
        for actor in self.actors:
            actor.crash()
        self.site.s3.tick(121)
        was_live = bool(self.site.live())
        outcome = self.site.promote()
        self.check()
        if was_live or isinstance(outcome, Promoted):
            assert set(self.site.public()) == set(expected_public())
            assert set(self.site.s3.gate.entries) == {"owner"}
        self._check_all_recorded()
        signed = list(self.site.sigstore.signed)
        self.site.s3.writes.clear()
        again = self.site.promote()
        assert type(again) is type(outcome)
        assert self.site.s3.writes == [], "a further run still had something to write"
        assert self.site.sigstore.signed == signed, "a further run signed something"

    def _check_all_recorded(self) -> None:
        stored = self.site.stored_records()
        recorded = [file.key for name, data in stored.items() for file in read_record(data, name).files]
        assert sorted(recorded) == sorted(self.seen), "each public key is in exactly one record"
        assert self.site.public_records() == stored, "a record is stored and not public"


def read_record(data: bytes, name: str) -> Record:
    record = read_statement(extract_payload(data, name), name)
    assert isinstance(record, Record)
    return record


@contextmanager
def undisturbed(site: Site) -> Generator[None]:
    """Reads by the test itself are no requests of an actor."""
    before = site.s3.before
    site.s3.before = lambda request, key: None
    yield
    site.s3.before = before


def count_steps() -> int:
    """Count the requests of an undisturbed promotion."""
    model = Model()
    model.act("promote", 0, 0)
    steps = 0
    while model.actors[0].ends == []:
        model.act("step", 0, 1)
        steps += 1
    return steps


STEPS = count_steps()
END = STEPS * 3
"""More requests than any command makes here."""


@pytest.mark.parametrize("pause", range(STEPS + 1))
@pytest.mark.parametrize("other", ["same bytes", "new bytes", "re-spin"])
def test_a_promoter_who_slept_through_another_run_does_no_harm(pause: int, other: str) -> None:
    model = Model()
    model.act("promote", 0, pause)
    model.act("sleep", 0, 0)
    if other == "re-spin":
        model.act("respin", 1, END)
    if other != "same bytes":
        model.act("rebuild", 0, 0)
    model.act("promote", 1, END)
    model.act("step", 0, END)
    model.settle()


@pytest.mark.slow
@pytest.mark.parametrize("pause", range(STEPS + 1))
def test_two_promoters_who_take_turns_at_any_two_points_do_no_harm(pause: int) -> None:
    for turn in range(STEPS + 1):
        for respin in (False, True):
            model = Model()
            model.act("promote", 0, pause)
            model.act("sleep", 0, 0)
            if respin:
                model.act("respin", 1, END)
                model.act("rebuild", 0, 0)
            model.act("promote", 1, turn)
            model.act("step", 0, END)
            model.act("sleep", 0, 0)
            model.act("promote", 0, turn)
            model.act("step", 1, END)
            model.settle()


ACTIONS = st.tuples(
    st.sampled_from(["promote", "step", "step", "sleep", "crash", "respin", "rebuild", "expire"]),
    st.integers(0, 1),
    st.integers(0, 70),
)


@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(ACTIONS, max_size=25))
def test_whatever_happens_a_release_is_wholly_public_or_wholly_hidden_in_the_end(
    actions: list[tuple[str, int, int]],
) -> None:
    model = Model()
    for kind, who, count in actions:
        model.act(kind, who, count)
    model.settle()


@pytest.mark.slow
@settings(max_examples=5_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(ACTIONS, max_size=40))
def test_whatever_happens_a_release_is_wholly_public_or_wholly_hidden_in_the_end_at_length(
    actions: list[tuple[str, int, int]],
) -> None:
    model = Model()
    for kind, who, count in actions:
        model.act(kind, who, count)
    model.settle()
