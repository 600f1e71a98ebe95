"""`publisher withdraw` and `publisher restore`: public files out of sight, on record, and back again."""

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

from publisher.core.lease import WITHDRAW
from publisher.core.profile import Release
from publisher.core.refusals import Refusal
from publisher.core.signatures import refuse_identity
from publisher.core.withdrawals import (
    Case,
    Preview,
    Withdrawal,
    WithdrawnFile,
    choose_files,
    find_uncovered,
    refuse_restoring,
)
from publisher.errors import PublisherError, SigningError, StoppedError, UnfinishedError, UsageError
from publisher.outcomes import Declined, Outcome, Refused, Restored, Withdrawn
from publisher.ports import Signer
from publisher.workflow import restoring, withdrawing
from publisher.workflow.finishing import read_live
from publisher.workflow.lease import hold_lease
from publisher.workflow.releases import parse_release, suggest_release
from publisher.workflow.withdrawing import Wish, Work, find_unfinished
from publisher.workflow.world import World

Confirm = Callable[[Preview], bool]


@dataclass(frozen=True, slots=True)
class WithdrawRequest:
    """What the release manager asks for. `keys` are public keys or the ends of them; none means all files.

    `unlist` hides files from index pages and listing only: their URLs keep serving them.
    """

    release: str
    keys: tuple[str, ...]
    reason: str
    unlist: bool = False


def run_withdraw(world: World, request: WithdrawRequest, confirm: Confirm) -> Outcome:
    """Take files of a release out of sight, over a promotion that is under way too; run again, it finishes.

    The files are out of sight before anybody has to log in: the record comes last.

    Raises:
        UsageError: The release or a key cannot be meant, or there is no reason.
        LeaseError: Another withdrawal is under way.
        UnfinishedError: It is begun and not finished; running again goes on.
        StoppedError: A person stopped it.
    """
    release = _parse(world, request.release, request.reason)
    wish = Wish(request.keys, request.unlist, request.reason.strip())
    cases = world.state.read_cases(release.name)
    chosen = _choose(world, release, wish)
    refusals = _refuse(release, cases, chosen)
    if refusals:
        return Refused(refusals, waivable=False)
    todo = (
        *(file for withdrawal in find_unfinished(cases) for file in withdrawal.files),
        *find_uncovered(chosen, cases, unlist=wish.unlist),
    )
    if not todo:
        with _unfinished(release.name, "withdrawn"):
            withdrawing.look_again(world, cases)
        return _conclude(release, (case.withdrawal for case in cases), wish, changed=False)
    ends = tuple(promotion.plan.id for promotion in read_live(world, [release.name]))
    if not confirm(Preview(release.name, todo, ends, wish.unlist, restore=False, reason=wish.reason)):
        return Declined()
    with _stoppable(release.name):
        return _withdraw(world, release, wish)


def _withdraw(world: World, release: Release, wish: Wish) -> Outcome:
    purpose = f"{WITHDRAW}{release.name}"
    with hold_lease(world, purpose, take_over=True) as held:
        work = Work(world, held, release)
        cases = world.state.read_cases(release.name)
        refusals = refuse_restoring(release.name, cases)
        if refusals:
            return Refused(refusals, waivable=False)
        begun = list(find_unfinished(cases))
        # A live promotion has lost its lease to this: whatever fails now, something is half-way.
        live = bool(read_live(world, [release.name]))
        with _unfinished(release.name, "withdrawn") if live else nullcontext():
            fresh = withdrawing.begin(work, _choose(world, release, wish), wish)
        begun += [fresh] if fresh else []
        with _unfinished(release.name, "withdrawn"):
            for withdrawal in begun:
                withdrawing.hide(work, withdrawal)
    with _unfinished(release.name, "withdrawn"):
        # Without the lease: a browser waits for a person. Nobody can promote this release meanwhile.
        signer = _log_in(world, release)
        with hold_lease(world, purpose) as held:
            work = Work(world, held, release, signer)
            for withdrawal in begun:
                withdrawing.record_withdrawal(work, withdrawal)
    _warn_of_others(world, release, begun)
    return _conclude(release, begun, wish, changed=bool(begun))


def run_restore(world: World, name: str, reason: str, confirm: Confirm) -> Outcome:
    """Take every withdrawal of a release back; run again, it finishes.

    Raises:
        UsageError: The release cannot be meant, or there is no reason.
        LeaseError: Another holds the lease.
        UnfinishedError: It is begun and not finished; running again goes on.
        StoppedError: A person stopped it.
    """
    release = _parse(world, name, reason)
    cases = world.state.read_cases(name)
    if not cases:
        return Restored(name, (), (), changed=False)
    refusals = restoring.find_changed(world, cases)
    if refusals:
        return Refused(refusals, waivable=False)
    files = tuple(file for case in cases for file in case.withdrawal.files)
    if not confirm(Preview(name, files, (), unlist=False, restore=True, reason=reason.strip())):
        return Declined()
    with _stoppable(name):
        return _restore(world, release, reason.strip())


def _restore(world: World, release: Release, reason: str) -> Outcome:
    name = release.name
    with hold_lease(world, f"restore {name}") as held:
        work = Work(world, held, release)
        cases = world.state.read_cases(name)
        refusals = restoring.find_changed(world, cases)
        if refusals:
            return Refused(refusals, waivable=False)
        with _unfinished(name, "restored"):
            begun = restoring.begin(work, cases, reason)
            restoring.show(work, world.state.read_cases(name))
    with _unfinished(name, "restored"):
        signer = _log_in(world, release)
        with hold_lease(world, f"restore {name}") as held:
            work = Work(world, held, release, signer)
            for case, restoration in begun:
                restoring.record_restoration(work, case, restoration)
    ids = tuple(case.withdrawal.id for case in cases)
    keys = sorted({key for case in cases for key in case.withdrawal.keys})
    return Restored(name, ids, tuple(keys), changed=True)


def _parse(world: World, name: str, reason: str) -> Release:
    if not reason.strip():
        raise UsageError("found an empty reason, expected why, for the record", "say it: --reason '…'")
    with suggest_release(world, name):
        return parse_release(world.profile, name)


def _choose(world: World, release: Release, wish: Wish) -> tuple[WithdrawnFile, ...]:
    files = withdrawing.find_public(world, release)
    chosen = choose_files(wish.names, files)
    for name, keys in chosen.several.items():
        raise UsageError(f"found {name}, which is any of {', '.join(keys)}", "write more of its key")
    for name, close in chosen.unknown.items() if files else ():
        raise UsageError(
            f"found {name}, expected a public file of {release.name}",
            f"did you mean {close}?" if close else "a public key, or the end of one such as a file name",
        )
    return chosen.files


def _refuse(
    release: Release, cases: Iterable[Case], chosen: tuple[WithdrawnFile, ...]
) -> tuple[Refusal, ...]:
    if chosen:
        return refuse_restoring(release.name, cases)
    cure = "correct the version; what was never public needs no withdrawal"
    return (Refusal("not-public", release.name, "nothing of it public", "public files", cure),)


def _log_in(world: World, release: Release) -> Signer | None:
    """Log in for the record; without a login everything else is finished."""
    if not world.signed_records:
        return None
    try:
        signer = world.signing().log_in()
    except SigningError as error:
        world.observer.warn(f"the record cannot be signed: {error}")
        return None
    refusals = tuple(refuse_identity(world.profile.find_recorders(release), release.name, signer.identity))
    for refusal in refusals:
        world.observer.warn(
            f"the record cannot be signed: found {refusal.found}, expected {refusal.expected}"
        )
    return None if refusals else signer


def _warn_of_others(world: World, release: Release, begun: Iterable[Withdrawal]) -> None:
    """Tell of other releases that were in a promotion which ended: nothing lists or announces them now."""
    plans = [world.state.read_plan(promotion) for withdrawal in begun for promotion in withdrawal.promotions]
    for name in sorted({name for plan in plans for name in plan.names()} - {release.name}):
        world.observer.warn(
            f"{name} is public by a promotion that ended; run: publisher index, list and announce {name}"
        )


def _conclude(release: Release, found: Iterable[Withdrawal], wish: Wish, *, changed: bool) -> Withdrawn:
    found = tuple(found)
    return Withdrawn(
        release=release.name,
        withdrawals=tuple(withdrawal.id for withdrawal in found),
        keys=tuple(sorted({key for withdrawal in found for key in withdrawal.keys})),
        ended=tuple(promotion for withdrawal in found for promotion in withdrawal.promotions),
        unlist=wish.unlist,
        changed=changed,
    )


@contextmanager
def _unfinished(name: str, what: str) -> Generator[None]:
    """Whatever goes wrong from here on, something has changed that is to be finished."""
    try:
        yield
    except Exception as error:
        cure = error.next_step if isinstance(error, PublisherError) else ""
        raise UnfinishedError(
            f"{name} is being {what}, and that is not finished: {error}", cure or "run the same command again"
        ) from error


@contextmanager
def _stoppable(name: str) -> Generator[None]:
    try:
        yield
    except KeyboardInterrupt:
        said = f"interrupted: {name} is as it was, or half-way; publisher status {name} tells"
        raise StoppedError(said) from None
