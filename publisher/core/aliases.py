"""Aliases: folders that stand for the newest release's, as entries of the gate that only move forward."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from publisher.core import keys
from publisher.core.gate import Change
from publisher.core.pointers_swap import Verdict, judge_swap
from publisher.core.profile import AliasRule, Release, placeholders
from publisher.core.refusals import Refusal

MAX_SEGMENTS: Final = 3
"""The gate looks for an alias in this many of the first segments of a path."""

_PREFIX = "a:"
_PART = re.compile(r"\d+|[a-z]+")

Rank = tuple[tuple[int, int, str], ...]


@dataclass(frozen=True, slots=True)
class AliasChange:
    """An alias to be moved from `base` (None: it is new) to `target`, which is a folder of `release`."""

    name: str
    base: str | None
    target: str
    release: str


@dataclass(frozen=True, slots=True)
class AliasMoved:
    """How the move of an alias ended: done, or superseded by somebody else, who moved it on."""

    change: AliasChange
    state: Verdict


@dataclass(frozen=True, slots=True)
class AliasKept:
    """An alias that stays where it is although `release` might have moved it, and why."""

    name: str
    release: str
    reason: str


def find_rule_problems(rule: AliasRule) -> tuple[str, ...]:
    """Say what is wrong with a rule, whatever the version groups are."""
    problems: list[str] = []
    if "release" in placeholders(rule.name):
        problems.append("its name has {release} in it, so it would never move")
    if "release" not in placeholders(rule.to):
        problems.append("there is no {release} in what it leads to, so nobody can tell whose folder that is")
    for template in (rule.name, rule.to):
        problem = keys.find_problem(re.sub(r"\{\w+\}", "x", template))
        if problem:
            problems.append(f"{template!r}: {problem}")
    if rule.name.count("/") >= MAX_SEGMENTS:
        problems.append(f"its name has more than {MAX_SEGMENTS} segments, which the gate does not look at")
    if f"{rule.to}/".startswith(f"{rule.name}/"):
        problems.append("it leads to a folder below itself, which it hides")
    return tuple(problems)


def plan_aliases(
    rules: Iterable[AliasRule],
    releases: Iterable[Release],
    entries: Mapping[str, str],
    *,
    parse: Callable[[str], Release | None],
    public: Collection[str],
) -> tuple[tuple[AliasChange, ...], tuple[AliasKept, ...]]:
    """Decide which aliases a run moves, and say why the others stay.

    Args:
        rules: The aliases of the profile.
        releases: The releases of the run.
        entries: The gate's, as they are now.
        parse: Takes the name of a release apart.
        public: The keys that are public after the run, as far as they lie in the releases' own folders.
    """
    releases = tuple(releases)
    changes: dict[str, AliasChange] = {}
    kept: list[AliasKept] = []
    for rule in rules:
        # From the lowest up: the highest has the last word.
        for release in sorted(releases, key=rank):
            name = _fill(rule.name, release)
            current = entries.get(alias_entry(name))
            found = plan_alias(rule, release, current, parse=parse, public=public)
            if isinstance(found, AliasKept):
                kept.append(found)
            elif found:
                changes[name] = found
    return tuple(changes.values()), tuple(kept)


def plan_alias(
    rule: AliasRule,
    release: Release,
    current: str | None,
    *,
    parse: Callable[[str], Release | None],
    public: Collection[str],
) -> AliasChange | AliasKept | None:
    """Decide whether `release` moves the alias of `rule` that leads to `current` now (None: there is none).

    It is none of the release's business if that is of another kind or series; it may be there already.
    """
    if release.kind not in rule.kinds or (rule.series is not None and release.series not in rule.series):
        return None
    name, target = _fill(rule.name, release), _fill(rule.to, release)
    if current == target:
        return None
    if not any(key.startswith(f"{target}/") for key in public):
        return AliasKept(name, release.name, f"nothing of {release.name} is in {target}/")
    if current is not None:
        holder = find_release(rule, name, current, parse)
        if holder is None:
            return AliasKept(name, release.name, f"it leads to {current}/, which is no release's folder")
        if rank(holder) >= rank(release):
            return AliasKept(name, release.name, f"it leads to {holder.name}, which is higher")
    return AliasChange(name, current, target, release.name)


def find_release(
    rule: AliasRule, name: str, target: str, parse: Callable[[str], Release | None]
) -> Release | None:
    """Find the release whose folder `target` is, if the rule makes it of one and calls it `name`."""
    parts = re.split(r"\{(\w+)\}", rule.to)
    pattern = "".join(
        ("([^/]+)" if part == "release" else "[^/]*") if index % 2 else re.escape(part)
        for index, part in enumerate(parts)
    )
    match = re.fullmatch(pattern, target)
    release = parse(match[1]) if match else None
    if release is None or (_fill(rule.name, release), _fill(rule.to, release)) != (name, target):
        return None
    return release


def rank(release: Release) -> Rank:
    """Give what orders releases: numbers as numbers, and 3.15.0 above 3.15.0rc1 and 3.15.0b2."""
    parts = _PART.findall(release.name.lower())
    end = (1, 0, "")
    return (*((2, int(part), "") if part.isdigit() else (0, 0, part) for part in parts), end)


def refuse_shadowed(
    keys_planned: Iterable[str], entries: Mapping[str, str], changes: Iterable[AliasChange]
) -> tuple[Refusal, ...]:
    """Refuse keys that nobody could reach, because a folder above them is, or becomes, an alias."""
    after = {**entries, **{alias_entry(change.name): change.target for change in changes}}
    return tuple(
        Refusal(
            "alias",
            key,
            f"it in {above}/, which is an alias of {after[alias_entry(above)]}/",
            "a key outside of all aliases",
            "correct the key's template in the profile, or the alias",
        )
        for key in sorted(set(keys_planned))
        for above in keys.parents(key)[:MAX_SEGMENTS]
        if alias_entry(above) in after
    )


def alias_entry(name: str) -> str:
    """Give the gate's entry for an alias; its value is the folder that it stands for."""
    return _PREFIX + name


def move(entries: Mapping[str, str], changes: Iterable[AliasChange]) -> Change:
    """Move aliases, each only if it still is where it was when that was decided."""
    wanted = ((alias_entry(change.name), change) for change in changes)
    return Change(
        {
            entry: change.target
            for entry, change in wanted
            if judge_swap(entries.get(entry), change.base, change.target) is Verdict.SWAP
        }
    )


def restore(entries: Mapping[str, str], changes: Iterable[AliasChange]) -> Change:
    """Put back what a store that was lost has no more: `changes` as they were made, the last one last."""
    wanted = {alias_entry(change.name): change.target for change in changes}
    return Change({entry: target for entry, target in wanted.items() if entry not in entries})


def judge_moves(entries: Mapping[str, str], changes: Iterable[AliasChange]) -> Mapping[AliasChange, Verdict]:
    """Judge how far the moves have got: superseded is one that somebody else has moved on."""
    return {
        change: judge_swap(entries.get(alias_entry(change.name)), change.base, change.target)
        for change in changes
    }


def follow(entries: Mapping[str, str], key: str) -> str:
    """Give the key that the gate serves for `key`: that of the longest alias above it, applied once."""
    slash = "/" if key.endswith("/") else ""
    segments = key.removesuffix("/").split("/")
    for count in range(min(len(segments), MAX_SEGMENTS), 0, -1):
        prefix = entries.get(alias_entry("/".join(segments[:count])))
        if prefix is not None:
            target = "/".join(part for part in (prefix.strip("/"), *segments[count:]) if part)
            return target + slash if target == "" or keys.find_problem(target) is None else key
    return key


def find_affected(change: AliasChange, public: Iterable[str]) -> tuple[str, ...]:
    """List the keys by which users know what an alias leads to, before or after: outer caches hold them.

    The CDN itself needs no invalidation: it keeps answers under the key that the gate made of the user's.
    """
    folders = [f"{folder}/" for folder in (change.base, change.target) if folder is not None]
    below = {
        f"{change.name}/{key.removeprefix(folder)}"
        for key in public
        for folder in folders
        if key.startswith(folder)
    }
    return (f"{change.name}/", *sorted(below))


def _fill(template: str, release: Release) -> str:
    return template.format_map({**release.groups, "release": release.name})
