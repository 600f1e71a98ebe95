"""The rules for a staged set of pointers: whole, readable, no link to nothing, built from what is public."""

from collections.abc import Collection, Iterable, Iterator

from publisher.core.digests import Digest, display, of_bytes
from publisher.core.pointers import (
    NAME,
    RULE,
    Candidate,
    PointerFacts,
    PointerRule,
    PointerStaging,
    Run,
    find_returning,
    make_subject,
)
from publisher.core.pointers_links import MAX_BYTES, find_dangling, find_links
from publisher.core.refusals import Refusal

ABSENT = "absent"
"""What stands for the digest of a file that is not there yet."""


def write_digest(digest: Digest | None) -> str:
    """Write a digest as people read it, or that there is none."""
    return display(digest) if digest else ABSENT


def read_set(
    rule: PointerRule, staging: PointerStaging, facts: PointerFacts
) -> Candidate | tuple[Refusal, ...]:
    """Read what a role has staged of one of its sets: all of it, or the reasons why it is not whole.

    No reason and no set means that nothing of it is staged, and need not be.
    """
    subject = make_subject(rule.name, staging.release)
    staged = [key for key in rule.files if key in staging.objects]
    claims = staging.claims
    if isinstance(claims, tuple):
        cure = f"{rule.role} corrects {NAME} and hands over again"
        return tuple(Refusal(RULE, subject, problem, f"a valid {NAME}", cure) for problem in claims)
    claim = (claims or {}).get(rule.name)
    if claim is None and not staged:
        return tuple(_refuse_none(rule, staging, facts))
    if claim is None:
        return (_refuse_unclaimed(rule, subject),)
    candidate = Candidate(rule, staging.release, claim, staging.objects, staging.data)
    return tuple(_refuse_parts(candidate)) or candidate


def refuse_unknown(rules: Iterable[PointerRule], staging: PointerStaging) -> Iterator[Refusal]:
    """Refuse what POINTERS.json says of sets that the profile does not let this role stage."""
    own = sorted(rule.name for rule in rules if rule.role == staging.role)
    claims = staging.claims
    for name in sorted(claims) if claims and not isinstance(claims, tuple) else ():
        if name not in own:
            yield Refusal(
                RULE,
                make_subject(name, staging.release),
                f"a set in {NAME} that is none of {staging.role}'s",
                f"one of {', '.join(own) or 'none: the profile has no set for this role'}",
                f"{staging.role} removes it from {NAME} and hands over again",
            )


def judge_content(candidate: Candidate, facts: PointerFacts, run: Run) -> Iterator[Refusal]:
    """Refuse a set that cannot be checked, leads to nothing, waits for others, or would go back."""
    yield from _refuse_links(candidate, facts, run)
    yield from _refuse_waiting(candidate, facts, run)
    for key in find_returning(candidate, facts):
        yield Refusal(
            RULE,
            candidate.subject,
            f"{key} as it was before: {display(candidate.objects[key].digest)}",
            "a file that was not public before: pointers only go forward, and caches still hold the old ones",
            f"{candidate.rule.role} builds it so that it differs, if only by a date, and hands over again",
        )


def refuse_stale(candidate: Candidate, public: Iterable[Digest | None]) -> Iterator[Refusal]:
    """Refuse a set that was built from something else than what is public now, file by file."""
    for key, now in zip(candidate.rule.files, public, strict=True):
        base = candidate.claim.base[key]
        if now not in {base, candidate.objects[key].digest}:
            yield Refusal(
                RULE,
                candidate.subject,
                f"{key} built from {write_digest(base)}",
                f"it built from {write_digest(now)}, which is public now, or from another one of this run",
                _rebuild(candidate),
            )


def refuse_owed(candidate: Candidate, releases: Collection[str]) -> Refusal:
    """Refuse a set that a live promotion has yet to swap."""
    names = " ".join(releases)
    return Refusal(
        RULE,
        candidate.subject,
        f"a live promotion of {names} that has yet to bring its own",
        "a set that stands still",
        f"run: publisher promote {names}; then {_rebuild(candidate)}",
    )


def refuse_fork(candidate: Candidate, others: Iterable[str]) -> Refusal:
    """Refuse a set that was built from the same as other ones of the run."""
    return Refusal(
        RULE,
        candidate.subject,
        f"it built from the same as {' and '.join(others)}",
        "each built on the other one, or one for all, which names the other releases in `requires`",
        _rebuild(candidate),
    )


def refuse_circle(candidate: Candidate) -> Refusal:
    """Refuse a set that is built, by way of others, on itself."""
    found = "it and other sets of this run built on each other, in a circle"
    return Refusal(RULE, candidate.subject, found, "one built from what is public", _rebuild(candidate))


def refuse_built_on(candidate: Candidate, other: str) -> Refusal:
    """Refuse a set that is built on one that is left out."""
    expected = f"{other} swapped before it"
    cure = f"cure {other}, or {_rebuild(candidate)}"
    return Refusal(RULE, candidate.subject, f"it built on {other}, which is refused", expected, cure)


def _rebuild(candidate: Candidate) -> str:
    return f"{candidate.rule.role} rebuilds {candidate.rule.name} from what is public, and hands over again"


def _refuse_none(rule: PointerRule, staging: PointerStaging, facts: PointerFacts) -> Iterator[Refusal]:
    release = staging.release
    if release.kind in rule.required and release.name not in facts.promoted:
        yield Refusal(
            RULE,
            make_subject(rule.name, release),
            f"nothing of it from {rule.role}",
            f"a new {rule.name}, as releases of kind {release.kind} bring one",
            f"{rule.role} builds it from what is public, and hands over again",
        )


def _refuse_unclaimed(rule: PointerRule, subject: str) -> Refusal:
    return Refusal(
        RULE,
        subject,
        f"files of it, but nothing about it in {NAME}",
        f"{NAME} to say what each of them was built from",
        f"{rule.role} writes it and hands over again",
    )


def _refuse_parts(candidate: Candidate) -> Iterator[Refusal]:
    """Refuse a set that is not whole: staged, listed and known must be the same files."""
    files, base = candidate.rule.files, candidate.claim.base
    cure = f"{candidate.rule.role} stages the whole set and hands over again"
    whole = f"all of {', '.join(files)}, and no other"
    for key in files:
        if key not in candidate.objects:
            yield Refusal(RULE, candidate.subject, f"no {key} staged", whole, cure)
        if key not in base:
            yield Refusal(RULE, candidate.subject, f"no base of {key} in {NAME}", whole, cure)
    for key in sorted(base.keys() - files.keys()):
        yield Refusal(RULE, candidate.subject, f"{key}, which is not of this set, in {NAME}", whole, cure)


def _refuse_links(candidate: Candidate, facts: PointerFacts, run: Run) -> Iterator[Refusal]:
    for key in candidate.rule.files:
        problem = _find_unreadable(candidate, key)
        if problem:
            yield Refusal(RULE, candidate.subject, f"{key}: {problem[0]}", *problem[1:])
            continue
        try:
            links = find_links(key, candidate.data[key], facts.site)
        except ValueError as error:
            cure = _rebuild(candidate)
            yield Refusal(RULE, candidate.subject, f"{key}, which is no JSON: {error}", "valid JSON", cure)
            continue
        for link in find_dangling(links, facts.linked, run.keys):
            yield Refusal(
                RULE,
                candidate.subject,
                f"a link in {key} to {_show(link)}, where nothing is",
                "links to what is public or part of this run",
                f"promote that too, or {_rebuild(candidate)}",
            )


def _find_unreadable(candidate: Candidate, key: str) -> tuple[str, str, str] | None:
    """Say why the bytes of a file cannot be judged, what was expected and what to do."""
    stored = candidate.objects[key]
    if stored.size > MAX_BYTES or key not in candidate.data:
        return f"{stored.size:,} bytes", f"at most {MAX_BYTES:,}", "make a smaller file, or several"
    if of_bytes(candidate.data[key]) != stored.digest:
        return "other bytes than a moment before", "files that stand still", "run again"
    return None


def _refuse_waiting(candidate: Candidate, facts: PointerFacts, run: Run) -> Iterator[Refusal]:
    there = run.releases | facts.promoted
    for name in dict.fromkeys((candidate.release.name, *candidate.claim.requires)):
        if name not in there:
            yield Refusal(
                RULE,
                candidate.subject,
                f"it waits for {name}, which is not public",
                f"{name} public, or part of this run",
                f"run: publisher promote {name} …",
            )


def _show(link: str) -> str:
    """Write what a builder wrote so that a terminal can show it."""
    return "".join(letter if letter.isprintable() else "?" for letter in link)[:300]
