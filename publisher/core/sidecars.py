"""The rules for the release manager's sidecars."""

from collections.abc import Iterator, Mapping

from publisher.core.delivery import (
    Delivered,
    RoleAssessment,
    Standing,
    find_bad,
    find_missing,
    is_proven,
    list_trusted,
    refuse_bad,
    refuse_changes,
    refuse_sizes,
    refuse_unsigned,
    stand,
)
from publisher.core.digests import Digest
from publisher.core.profile import RM, Expected, Need
from publisher.core.refusals import Refusal
from publisher.core.signing import SIGNATURES
from publisher.core.snapshot import ReleaseSnapshot, StoredObject


def assess_sidecars(
    snapshot: ReleaseSnapshot,
    expected: Mapping[str, Expected],
    published: Mapping[str, Digest],
    roles: Mapping[str, RoleAssessment],
) -> RoleAssessment:
    """Assess the release manager's sidecars, which need no hand-over: who promotes vouches for them.

    A copy of what is public there already, as amending leaves it, is in nobody's way.
    """
    mine = {key: item for key, item in expected.items() if item.role == RM}
    delivered = {item.expected.key for role in roles.values() for item in role.delivered}
    there = delivered | published.keys()
    staged = {key for staging in snapshot.roles.values() for key in staging.objects}
    good: dict[str, StoredObject] = {}
    waiting: dict[str, StoredObject] = {}
    strays: list[str] = []
    for key, stored in snapshot.rm.items():
        item = mine.get(key)
        if key not in mine and snapshot.is_public(key, stored.digest, published):
            continue
        if item is None or item.need is Need.FORBIDDEN or item.artifact not in there | staged:
            strays.append(key)
        elif item.artifact in there:
            good[key] = stored
        else:
            waiting[key] = stored
    # A sidecar is owed only for an artifact that is delivered: a role that is late owes that itself.
    trusted = list_trusted(expected, published)
    missing = list(find_missing(mine, delivered | trusted | good.keys()))
    bad = find_bad({key: mine[key] for key in good}, published, snapshot)
    refusals = [
        *(_refuse_rm_stray(key, snapshot.release.name, expected.get(key)) for key in sorted(strays)),
        *refuse_changes({**waiting, **good}, published, snapshot),
        *refuse_sizes(good),
        *refuse_bad(bad, mine, snapshot),
        *_refuse_twice({key: mine[key] for key in good if not is_proven(mine[key], published)}, snapshot),
        *(
            refuse_unsigned(mine[key], snapshot)
            if mine[key].format in SIGNATURES
            else _refuse_rm_missing(key, snapshot.release.name)
            for key in missing
        ),
    ]
    standing = {
        **dict.fromkeys(strays, Standing.EXTRA),
        **stand(waiting, published, snapshot, Standing.STAGED),
        **stand(good, published, snapshot, Standing.READY),
        **dict.fromkeys(bad, Standing.STAGED),
        **dict.fromkeys(missing, Standing.MISSING),
        **{key: Standing.PUBLIC for key in mine if key in published and key not in good.keys() | strays},
    }
    return RoleAssessment(
        role=RM,
        handed_over=True,
        commit=None,
        delivered=tuple(Delivered(mine[key], good[key]) for key in sorted(good)),
        refusals=tuple(refusals),
        standing=standing,
    )


def _refuse_rm_stray(key: str, release: str, item: Expected | None) -> Refusal:
    where = f"{RM}/{release}/{key}"
    cure = f"ops removes {where}"
    if item is not None and item.role != RM:
        return Refusal("role", key, where, f"it from {item.role}", cure)
    if item is not None and item.need is not Need.FORBIDDEN:
        found, expected = f"{where} without the file it is about", f"{item.artifact} staged or public"
        return Refusal("extra", key, found, expected, f"wait for that file, or {cure}")
    return Refusal("extra", key, where, "sidecars of this release's artifacts only", cure)


def _refuse_twice(staged: Mapping[str, Expected], snapshot: ReleaseSnapshot) -> Iterator[Refusal]:
    """Refuse a second sidecar of what its builder has signed: which one counts must not be left open.

    `staged` is without what is public: there, an amended sidecar lies beside its builder's old one.
    """
    name = snapshot.release.name
    for key, item in sorted(staged.items()):
        if item.builder and snapshot.has_staged(item.builder, key):
            found = f"{RM}/{name}/{key} and {item.builder}/{name}/{key}"
            cure = f"{item.builder} removes its own and hands over again, or ops removes the other"
            yield Refusal("signature", key, found, "one of them", cure)


def _refuse_rm_missing(key: str, release: str) -> Refusal:
    return Refusal(
        "missing",
        key,
        "nothing from the release manager",
        "it in staging or public",
        f"the release manager puts it at {RM}/{release}/{key}",
    )
