"""The decision about pointers: from what is staged to the swaps of a run, and every reason against one."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from publisher.core.plan import PlannedFile
from publisher.core.pointers import (
    Candidate,
    PointerFacts,
    PointerPlan,
    PointerRule,
    PointerStaging,
    Run,
    is_settled,
    make_swap,
    order_candidates,
    plan_files,
    read_public,
)
from publisher.core.pointers_order import Chain
from publisher.core.pointers_rules import (
    judge_content,
    read_set,
    refuse_built_on,
    refuse_circle,
    refuse_fork,
    refuse_owed,
    refuse_stale,
    refuse_unknown,
)
from publisher.core.pointers_swap import Swap
from publisher.core.refusals import Refusal


def plan_pointers(
    staged: Iterable[PointerStaging], rules: Sequence[PointerRule], facts: PointerFacts, run: Run
) -> PointerPlan:
    """Decide which staged sets are swapped after go-live, and why the others are not.

    A set with a refusal is left out, and so is what was built on it, with a refusal of its own: so waiving
    all refusals that there are makes the plan that is answered. Sets that were built on each other become
    one swap, from what is public to the last of them.

    Args:
        staged: What was handed over, of every role that has sets, for every release, even if it is nothing.
        rules: The sets of the profile, in the order in which they are swapped.
        facts: The public side.
        run: The releases and keys that become public with them.
    """
    staged = tuple(staged)
    refusals = [refusal for staging in staged for refusal in refuse_unknown(rules, staging)]
    settled: list[str] = []
    swaps: list[Swap] = []
    files: list[PlannedFile] = []
    for rule in rules:
        found = [read_set(rule, staging, facts) for staging in staged if staging.role == rule.role]
        whole = [each for each in found if isinstance(each, Candidate)]
        refusals += [refusal for each in found if not isinstance(each, Candidate) for refusal in each]
        settled += [each.subject for each in whole if is_settled(each, facts)]
        fresh = [each for each in whole if each.subject not in settled]
        # What it links to has to be there first: its own files, or those of a set that is swapped before.
        keys = run.keys.union(rule.files, (file.key for file in files))
        reasons = _judge(rule, fresh, facts, Run(run.releases, keys))
        refusals += [refusal for each in fresh for refusal in reasons[each.subject]]
        good = [each for each in _order(rule, fresh, facts) if not reasons[each.subject]]
        if good:
            swaps.append(make_swap(good))
            files += plan_files(good[-1])
    return PointerPlan(tuple(swaps), tuple(files), tuple(refusals), tuple(settled))


def _order(rule: PointerRule, fresh: Sequence[Candidate], facts: PointerFacts) -> Iterator[Candidate]:
    by_subject = {each.subject: each for each in fresh}
    for subject in order_candidates(fresh, read_public(rule, facts)).order:
        yield by_subject[subject]


def _judge(
    rule: PointerRule, fresh: Sequence[Candidate], facts: PointerFacts, run: Run
) -> Mapping[str, Sequence[Refusal]]:
    """List the reasons against each set, by its subject."""
    reasons = {each.subject: list(judge_content(each, facts, run)) for each in fresh}
    if rule.name in facts.owed:
        # What is public now is not what it will be, so nothing can be said of what they were built from.
        for each in fresh:
            reasons[each.subject].append(refuse_owed(each, facts.owed[rule.name]))
        return reasons
    chain = order_candidates(fresh, read_public(rule, facts))
    for each in fresh:
        reasons[each.subject] += _refuse_place(each, chain, facts)
    by_subject = {each.subject: each for each in fresh}
    for before, subject in zip(chain.order, chain.order[1:], strict=False):
        if reasons[before]:
            reasons[subject].append(refuse_built_on(by_subject[subject], before))
    return reasons


def _refuse_place(candidate: Candidate, chain: Chain, facts: PointerFacts) -> Iterator[Refusal]:
    """Refuse a set that has no place in the order."""
    subject = candidate.subject
    if subject in chain.forks:
        yield refuse_fork(candidate, [other for other in chain.forks if other != subject])
    elif subject in chain.circle:
        yield refuse_circle(candidate)
    elif subject in chain.after:
        yield refuse_built_on(candidate, chain.after[subject])
    elif subject in chain.stale:
        yield from refuse_stale(candidate, read_public(candidate.rule, facts))
