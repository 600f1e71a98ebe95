"""What may be said of one release: which files are ready, and every reason why it may not go public."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from publisher.core import sums
from publisher.core.digests import Digest, display, of_bytes
from publisher.core.profile import RM, Duty, Expected, Need, Profile
from publisher.core.refusals import Refusal
from publisher.core.snapshot import ReleaseSnapshot, ReleaseState, RoleStaging, StoredObject

MAX_COPY_BYTES = 5 * 1024**3
"""The largest object that S3 copies in one request, which is what keeps a copy whole and pinned."""


class Standing(StrEnum):
    """How one artifact of a release stands."""

    MISSING = "missing"
    STAGED = "staged"
    READY = "ready"
    PUBLIC = "public"
    DIFFERS = "differs"
    EXTRA = "extra"


@dataclass(frozen=True, slots=True)
class Delivered:
    """A staged object together with what the profile expects under its key."""

    expected: Expected
    stored: StoredObject


@dataclass(frozen=True, slots=True)
class RoleAssessment:
    """What one role has delivered. `standing` by public key; `commit` is what its hand-over says."""

    role: str
    handed_over: bool
    commit: str | None
    delivered: tuple[Delivered, ...]
    refusals: tuple[Refusal, ...]
    standing: Mapping[str, Standing]


@dataclass(frozen=True, slots=True)
class Assessment:
    """One release, assessed. `refusals` are those of the release as a whole; each role has its own."""

    snapshot: ReleaseSnapshot
    roles: Mapping[str, RoleAssessment]
    refusals: tuple[Refusal, ...]

    def all_refusals(self) -> tuple[Refusal, ...]:
        """List every reason, those of the roles included."""
        return self.refusals + tuple(refusal for role in self.roles.values() for refusal in role.refusals)

    def delivered(self) -> tuple[Delivered, ...]:
        """List what would be published, were nothing refused; what is public already is in it too."""
        return tuple(item for role in self.roles.values() for item in role.delivered)


def assess_release(
    snapshot: ReleaseSnapshot, profile: Profile, published: Mapping[str, Digest]
) -> Assessment:
    """Assess one release by the rules of `profile`.

    A role whose hand-over is missing delivers nothing, so setting that refusal aside can never publish
    bytes that nobody vouched for.
    """
    expected = profile.expect(snapshot.release)
    roles = {
        role: _RoleRules(role, snapshot, profile, expected, published).assess() for role in profile.roles
    }
    roles[RM] = _assess_rm(snapshot, expected, published, roles)
    refusals = [
        *(() if snapshot.state else (refuse_unopened(snapshot.release.name),)),
        *_refuse_holds(snapshot, profile),
    ]
    return Assessment(snapshot, roles, tuple(refusals))


def is_settled(snapshot: ReleaseSnapshot, published: Mapping[str, Digest]) -> bool:
    """Tell whether `snapshot` was promoted before and nothing staged since differs from what is public."""
    staged = [staging.objects for staging in snapshot.roles.values()] + [snapshot.rm]
    return bool(snapshot.numbers) and all(
        published.get(key) == stored.digest for objects in staged for key, stored in objects.items()
    )


def refuse_unopened(name: str) -> Refusal:
    """Refuse to work on a release that was never opened."""
    return Refusal("not-open", name, "no such release open", "an open one", f"run: publisher open {name}")


def read_hold(staging: RoleStaging | None) -> str | None:
    """Give the reason of a role's hold on one line, or None if it holds nothing.

    Only an empty object lifts a hold: one with nothing to read in it is a hold without a reason.
    """
    if staging is None or staging.hold is None or not staging.hold.data:
        return None
    text = staging.hold.data.decode("utf-8", "replace")
    # Roles write this and the release manager's terminal shows it.
    shown = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(shown.split()) or "(no reason given)"


def _refuse_holds(snapshot: ReleaseSnapshot, profile: Profile) -> Iterator[Refusal]:
    name = snapshot.release.name
    for role in profile.roles:
        reason = read_hold(snapshot.roles.get(role))
        if reason is not None:
            yield Refusal(
                "hold",
                f"{role}/{name}",
                f"a hold by {role}: {reason}",
                "no hold",
                f"cure what it says; then {role} runs: publisher unhold {name} --role {role}",
            )


class _RoleRules:
    """The rules for one role of one release."""

    def __init__(
        self,
        role: str,
        snapshot: ReleaseSnapshot,
        profile: Profile,
        expected: Mapping[str, Expected],
        published: Mapping[str, Digest],
    ) -> None:
        self._role = role
        self._release = snapshot.release.name
        self._state = snapshot.state
        self._staging = snapshot.roles.get(role, RoleStaging({}))
        self._commit_required = profile.commit_required
        self._tests = profile.roles[role].duty is Duty.TESTS
        self._all_expected = expected
        self._expected = {key: item for key, item in expected.items() if item.role == role}
        self._published = published
        self._claimed = self._read_commit()

    def assess(self) -> RoleAssessment:
        staged = self._staging.objects
        good = {key: stored for key, stored in staged.items() if self._is_deliverable(key)}
        strays = sorted(staged.keys() - good.keys())
        refusals = [self._refuse_stray(key) for key in strays]
        refusals += _refuse_changes(good, self._published)
        # Nothing of a tester's is published, so it has nothing to hand over.
        if self._staging.sums is None or self._tests:
            return self._assess_without_hand_over(good, strays, refusals)
        refusals += [
            *self._check_sums(self._staging.sums.data, strays),
            *self._check_attempt(self._staging.sums.version_id),
            *_refuse_sizes(good),
            *(self._refuse_missing(key) for key in self._missing(good)),
        ]
        standing = {
            **dict.fromkeys(strays, Standing.EXTRA),
            **_stand(good, self._published, Standing.READY),
            **dict.fromkeys(self._missing(good), Standing.MISSING),
            **self._public_only(good),
        }
        return self._conclude(good, refusals, standing, handed_over=True)

    def _assess_without_hand_over(
        self, good: Mapping[str, StoredObject], strays: Iterable[str], refusals: list[Refusal]
    ) -> RoleAssessment:
        missing = self._missing(good)
        fresh = [key for key, stored in good.items() if self._published.get(key) != stored.digest]
        if missing or fresh:
            refusals = [*refusals, self._refuse_no_hand_over(len(good), len(missing))]
        standing = {
            **dict.fromkeys(strays, Standing.EXTRA),
            **_stand(good, self._published, Standing.STAGED),
            **dict.fromkeys(missing, Standing.MISSING),
            **self._public_only(good),
        }
        return self._conclude({}, refusals, standing, handed_over=False)

    def _conclude(
        self,
        good: Mapping[str, StoredObject],
        refusals: list[Refusal],
        standing: Mapping[str, Standing],
        *,
        handed_over: bool,
    ) -> RoleAssessment:
        return RoleAssessment(
            role=self._role,
            handed_over=handed_over,
            commit=self._claimed,
            delivered=tuple(Delivered(self._expected[key], good[key]) for key in sorted(good)),
            refusals=tuple(refusals),
            standing=standing,
        )

    def _read_commit(self) -> str | None:
        return sums.parse_commit(self._staging.commit.data) if self._staging.commit else None

    def _is_deliverable(self, key: str) -> bool:
        item = self._expected.get(key)
        if item is None or item.need is Need.FORBIDDEN:
            return False
        return (
            item.artifact is None
            or item.artifact in self._staging.objects
            or item.artifact in self._published
        )

    def _missing(self, good: Mapping[str, StoredObject]) -> list[str]:
        return list(find_missing(self._expected, good.keys() | self._published.keys()))

    def _public_only(self, good: Mapping[str, StoredObject]) -> dict[str, Standing]:
        return {key: Standing.PUBLIC for key in self._expected if key in self._published and key not in good}

    def _refuse_stray(self, key: str) -> Refusal:
        item = self._all_expected.get(key)
        where = f"{self._role}/{self._release}/{key}"
        remove = f"{self._role} removes it: aws s3 rm s3://<staging>/{where}"
        remove += "" if self._tests else "; then it hands over again"
        if item is None:
            return Refusal("extra", key, f"{where}, a name the profile does not know", "no such file", remove)
        if item.role != self._role:
            owner = "the release manager" if item.role == RM else item.role
            return Refusal("role", key, where, f"it from {owner}", remove)
        if item.need is Need.FORBIDDEN:
            return Refusal("extra", key, where, "no such file in a release of this kind", remove)
        return Refusal(
            "extra",
            key,
            f"{where} without the file it is about",
            f"{item.artifact} beside it",
            f"{self._role} uploads that one too and hands over again, or {remove}",
        )

    def _refuse_no_hand_over(self, staged: int, missing: int) -> Refusal:
        return Refusal(
            "missing",
            f"{self._role}/{self._release}",
            f"no {sums.NAME}; files staged: {staged}, required and missing: {missing}",
            "the hand-over of a complete set",
            f"{self._role} runs: publisher upload {self._release} … --complete",
        )

    def _refuse_missing(self, key: str) -> Refusal:
        return Refusal(
            "missing",
            key,
            f"nothing from {self._role}",
            "it in staging or public",
            f"{self._role} uploads it and hands over again",
        )

    def _check_sums(self, data: bytes, strays: Collection[str]) -> Iterator[Refusal]:
        parsed = sums.parse_sums(data)
        where = f"{self._role}/{self._release}/{sums.NAME}"
        if isinstance(parsed, tuple):
            for problem in parsed:
                yield Refusal(
                    "hand-over", f"{where}:{problem.line}", problem.found, problem.expected, problem.cure
                )
            return
        there = {key: stored.digest for key, stored in self._staging.objects.items()}
        if self._staging.commit:
            there[sums.COMMIT_NAME] = of_bytes(self._staging.commit.data)
        for name in sorted(parsed.keys() - there.keys()):
            yield from self._check_unstaged(name, parsed[name], where)
        # That a stray is staged has been said; going on without it must not need its builder.
        for name in sorted(there.keys() - parsed.keys() - set(strays)):
            cure = f"{self._role} hands over again with it listed, or removes it"
            yield Refusal("hand-over", name, f"it staged, but not in {where}", "it in both", cure)
        for name in sorted(there.keys() & parsed.keys()):
            if there[name] != parsed[name]:
                staged, expected = display(there[name]), display(parsed[name])
                cure = f"{self._role} uploads the file and hands over again"
                yield Refusal("digest", name, f"{staged} staged", f"{expected} as in {where}", cure)

    def _check_unstaged(self, name: str, listed: Digest, where: str) -> Iterator[Refusal]:
        """Check a name that is handed over and not staged: its copy may have expired once it was public."""
        public = self._published.get(name)
        if public is None:
            cure = f"{self._role} uploads it, or hands over again without it"
            yield Refusal("hand-over", name, f"it in {where} only", "it staged too", cure)
        elif public != listed:
            cure = f"a public file never changes: {self._role} hands over again without it"
            found, expected = f"{display(listed)} in {where}", f"{display(public)}, which is public already"
            yield Refusal("public", name, found, expected, cure)

    def _check_attempt(self, version_id: str) -> Iterator[Refusal]:
        if self._state is None:
            return
        # Where the profile asks for no COMMIT, one that is there must still be the right one.
        asked = self._commit_required or (self._staging.commit and self._state.commit)
        if asked and (self._claimed is None or self._claimed != self._state.commit):
            yield self._refuse_commit(self._state)
        elif self._state.void.get(self._role) == version_id:
            yield Refusal(
                "attempt",
                f"{self._role}/{self._release}",
                "a hand-over from before the re-spin",
                f"one for attempt {self._state.attempt}",
                f"{self._role} builds again and hands over again",
            )

    def _refuse_commit(self, state: ReleaseState) -> Refusal:
        expected = f"commit {state.commit} (attempt {state.attempt})"
        cure = f"{self._role} builds {state.commit} and hands over again"
        if state.commit is None:
            expected = "the commit that the release is open at; it is open at none"
            cure = f"run: publisher respin {self._release} --commit SHA --reason …"
        return Refusal(
            "commit",
            f"{self._role}/{self._release}",
            f"commit {self._claimed}" if self._claimed else f"no {sums.COMMIT_NAME} of one line",
            expected,
            cure,
        )


def _assess_rm(
    snapshot: ReleaseSnapshot,
    expected: Mapping[str, Expected],
    published: Mapping[str, Digest],
    roles: Mapping[str, RoleAssessment],
) -> RoleAssessment:
    """Assess the release manager's sidecars, which need no hand-over: who promotes vouches for them."""
    mine = {key: item for key, item in expected.items() if item.role == RM}
    there = {item.expected.key for role in roles.values() for item in role.delivered} | published.keys()
    staged = {key for staging in snapshot.roles.values() for key in staging.objects}
    good: dict[str, StoredObject] = {}
    waiting: dict[str, StoredObject] = {}
    strays: list[str] = []
    for key, stored in snapshot.rm.items():
        item = mine.get(key)
        if item is None or item.need is Need.FORBIDDEN or item.artifact not in there | staged:
            strays.append(key)
        elif item.artifact in there:
            good[key] = stored
        else:
            waiting[key] = stored
    # A sidecar is owed only for an artifact that is delivered: a role that is late owes that itself.
    missing = list(find_missing(mine, there | good.keys()))
    refusals = [
        *(_refuse_rm_stray(key, snapshot.release.name, expected.get(key)) for key in sorted(strays)),
        *_refuse_changes({**waiting, **good}, published),
        *_refuse_sizes(good),
        *(_refuse_rm_missing(key, snapshot.release.name) for key in missing),
    ]
    standing = {
        **dict.fromkeys(strays, Standing.EXTRA),
        **_stand(waiting, published, Standing.STAGED),
        **_stand(good, published, Standing.READY),
        **dict.fromkeys(missing, Standing.MISSING),
        **{key: Standing.PUBLIC for key in mine if key in published and key not in snapshot.rm},
    }
    delivered = tuple(Delivered(mine[key], good[key]) for key in sorted(good))
    return RoleAssessment(
        RM, handed_over=True, commit=None, delivered=delivered, refusals=tuple(refusals), standing=standing
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


def _refuse_rm_missing(key: str, release: str) -> Refusal:
    return Refusal(
        "missing",
        key,
        "nothing from the release manager",
        "it in staging or public",
        f"the release manager puts it at {RM}/{release}/{key}",
    )


def find_missing(expected: Mapping[str, Expected], there: Collection[str]) -> Iterator[str]:
    """Name the required keys that are not `there`; a sidecar is owed only for an artifact that is."""
    for key, item in expected.items():
        wanted = item.need is Need.REQUIRED and (item.artifact is None or item.artifact in there)
        if wanted and key not in there:
            yield key


def _refuse_changes(staged: Mapping[str, StoredObject], published: Mapping[str, Digest]) -> Iterator[Refusal]:
    """Refuse what differs from what is public, handed over or not: no waiver may pass it by."""
    for key, stored in sorted(staged.items()):
        if published.get(key, stored.digest) != stored.digest:
            yield Refusal(
                "public",
                key,
                f"{display(stored.digest)} staged",
                f"{display(published[key])}, which is public already",
                "a public file never changes: restore the staged file, or make a new release",
            )


def _refuse_sizes(staged: Mapping[str, StoredObject]) -> Iterator[Refusal]:
    for key, stored in sorted(staged.items()):
        if stored.size > MAX_COPY_BYTES:
            limit = f"at most {MAX_COPY_BYTES:,}"
            yield Refusal("size", key, f"{stored.size:,} bytes", limit, "split the file")


def _stand(
    good: Mapping[str, StoredObject], published: Mapping[str, Digest], otherwise: Standing
) -> dict[str, Standing]:
    def stand(key: str, stored: StoredObject) -> Standing:
        if key not in published:
            return otherwise
        return Standing.PUBLIC if published[key] == stored.digest else Standing.DIFFERS

    return {key: stand(key, stored) for key, stored in good.items()}
