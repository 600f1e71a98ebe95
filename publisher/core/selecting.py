"""Which staged files a person means by the names of roles and files, and whether they may have them."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from posixpath import basename

from publisher.core.profile import RM, Duty, Profile, Release
from publisher.core.refusals import Refusal


@dataclass(frozen=True, slots=True)
class Selection:
    """What is meant: all files of the roles in `whole`, and the files that `names` name.

    `roles` says in whose files the names are to be looked for, those of `whole` included.
    """

    roles: tuple[str, ...]
    whole: frozenset[str]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unknown:
    """A name that no staged file has, and what was perhaps meant by it."""

    name: str
    close: str | None


@dataclass(frozen=True, slots=True)
class Picked:
    """The keys that are meant, each with its role. `unknown` and `refusals` say what is wrong."""

    keys: tuple[tuple[str, str], ...]
    unknown: tuple[Unknown, ...]
    refusals: tuple[Refusal, ...]


def list_readable(profile: Profile, role: str | None) -> tuple[str, ...]:
    """Name the roles whose staged files `role` may read; the release manager (None) reads all.

    A builder reads its own and nobody else's, a tester those that the profile lets it read.
    """
    if role is None:
        return (*profile.roles, RM)
    rule = profile.roles[role]
    return (role,) if rule.duty is Duty.DELIVERS else rule.reads


def select(
    profile: Profile, release: Release, names: Iterable[str], readable: Collection[str]
) -> Selection | tuple[Refusal, ...]:
    """Find out whose files `names` (roles, keys, or the ends of keys) are about, before any request.

    No name means all that is readable.

    Returns:
        The selection, or a refusal for each name whose file or role may not be read.
    """
    names = tuple(dict.fromkeys(names))
    if not names:
        return Selection(tuple(readable), frozenset(readable), ())
    owners = {name: _find_owners(profile, release, name) for name in names}
    refusals = tuple(
        _refuse_reading(name, sorted(owning), readable)
        for name, owning in owners.items()
        if owning and not owning.intersection(readable)
    )
    if refusals:
        return refusals
    whole = frozenset(name for name in names if _is_role(profile, name))
    # A name that the profile does not know may still be that of a stray file, of any role.
    wanted = {role for owning in owners.values() for role in owning or readable}
    return Selection(
        roles=tuple(role for role in readable if role in wanted),
        whole=whole,
        names=tuple(name for name in names if name not in whole),
    )


def pick(
    profile: Profile, release: Release, selection: Selection, staged: Mapping[str, Collection[str]]
) -> Picked:
    """Pick the keys that `selection` means from what is `staged`, by role."""
    keys = {(role, key) for role in selection.whole for key in staged[role]}
    unknown: list[Unknown] = []
    refusals: list[Refusal] = []
    for name in selection.names:
        fitting = _find_fitting(name, staged)
        if len(fitting) == 1:
            keys.add(fitting[0])
        elif fitting:
            several = ", ".join(f"{role}/{release.name}/{key}" for role, key in fitting)
            refusals.append(
                Refusal("key", name, f"a name for {several}", "a name for one file", "write more of its key")
            )
        elif any(_fits(key, name) for key in profile.expect(release)):
            refusals.append(_refuse_absent(profile, release, name))
        else:
            unknown.append(Unknown(name, _find_close(name, profile, staged)))
    refusals += _refuse_twins(keys, release)
    return Picked(tuple(sorted(keys)), tuple(unknown), tuple(refusals))


def _is_role(profile: Profile, name: str) -> bool:
    return name in profile.roles or name == RM


def _find_owners(profile: Profile, release: Release, name: str) -> set[str]:
    if _is_role(profile, name):
        return {name}
    return {
        role
        for key, item in profile.expect(release).items()
        if _fits(key, name)
        for role in (item.role, item.builder)
        if role is not None
    }


def _fits(key: str, name: str) -> bool:
    return key == name or key.endswith(f"/{name}")


def _find_fitting(name: str, staged: Mapping[str, Collection[str]]) -> list[tuple[str, str]]:
    fitting = sorted((role, key) for role, keys in staged.items() for key in keys if _fits(key, name))
    return [(role, key) for role, key in fitting if key == name] or fitting


def _find_close(name: str, profile: Profile, staged: Mapping[str, Collection[str]]) -> str | None:
    known = {*profile.roles, *(basename(key) for keys in staged.values() for key in keys)}
    close = get_close_matches(basename(name), sorted(known), n=1)
    return close[0] if close else None


def _refuse_reading(name: str, owners: list[str], readable: Collection[str]) -> Refusal:
    theirs = ", ".join("the release manager" if role == RM else role for role in owners)
    found = "what it staged" if name in owners else f"a file of {theirs}"
    allowed = ", ".join(role for role in readable if role != RM) or "nothing"
    cure = "name one of those, or ask for another role's credentials"
    return Refusal("role", name, found, f"what this role may read: {allowed}", cure)


def _refuse_absent(profile: Profile, release: Release, name: str) -> Refusal:
    owner = sorted(_find_owners(profile, release, name))[0]
    who, wait = ("the release manager", "") if owner == RM else (owner, f" --role {owner}")
    cure = f"wait for it: publisher wait {release.name}{wait}"
    return Refusal("missing", name, f"nothing staged by {who}", "it in staging", cure)


def _refuse_twins(keys: Iterable[tuple[str, str]], release: Release) -> Iterator[Refusal]:
    """Refuse two roles' files that have one name and would end as one."""
    holders: dict[str, list[str]] = {}
    for role, key in sorted(keys):
        holders.setdefault(key, []).append(role)
    for key, roles in holders.items():
        if len(roles) > 1:
            cure = f"name one of the roles: publisher fetch {release.name} {roles[0]}"
            yield Refusal("key", key, f"one by each of {', '.join(roles)}", "one file of that name", cure)
