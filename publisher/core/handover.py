"""The rules for what one builder or tester has staged: its hand-over, its attempt, its files."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from publisher.core import sums
from publisher.core.delivery import (
    Delivered,
    RoleAssessment,
    Standing,
    find_bad,
    find_missing,
    list_trusted,
    refuse_bad,
    refuse_changes,
    refuse_sizes,
    refuse_unsigned,
    stand,
)
from publisher.core.digests import Digest, display, of_bytes
from publisher.core.identity import Rejected
from publisher.core.pointers import NAME as POINTERS_NAME
from publisher.core.profile import RM, Duty, Expected, Need, Profile
from publisher.core.refusals import Refusal
from publisher.core.signing import SIGNATURES, describe
from publisher.core.snapshot import ReleaseSnapshot, ReleaseState, RoleStaging, StoredObject


class RoleRules:
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
        self._snapshot = snapshot
        self._release = snapshot.release.name
        self._state = snapshot.state
        self._staging = snapshot.roles.get(role, RoleStaging({}))
        self._commit_required = profile.commit_required
        self._tests = profile.roles[role].duty is Duty.TESTS
        self._signers = profile.roles[role].signers
        self._all_expected = expected
        self._expected = {
            key: replace(item, role=role) for key, item in expected.items() if item.is_from(role)
        }
        self._published = published
        # They are handed over like any file, and judged by rules of their own.
        self._pointers = profile.list_pointers(role)
        self._claimed = self._read_commit()

    def assess(self) -> RoleAssessment:
        """Say how each of the role's files stands, and every reason against what it delivers."""
        staged = {key: stored for key, stored in self._staging.objects.items() if key not in self._pointers}
        good = {key: stored for key, stored in staged.items() if self._is_deliverable(key)}
        strays = sorted(staged.keys() - good.keys())
        refusals = [self._refuse_stray(key) for key in strays]
        refusals += refuse_changes(good, self._published, self._snapshot)
        # Nothing of a tester's is published, so it has nothing to hand over.
        if self._staging.sums is None or self._tests:
            return self._assess_without_hand_over(good, strays, refusals)
        doubts = [
            *self._check_sums(self._staging.sums.data, strays),
            *self._check_attempt(self._staging.sums.version_id),
            *self._check_signers(),
        ]
        missing = self._missing(good)
        bad = find_bad({key: self._expected[key] for key in good}, self._published, self._snapshot)
        refusals += [
            *doubts,
            *refuse_sizes(good),
            *refuse_bad(bad, self._expected, self._snapshot),
            *(self._refuse_missing(key) for key in missing),
        ]
        standing = {
            **dict.fromkeys(strays, Standing.EXTRA),
            **stand(good, self._published, self._snapshot, Standing.STAGED if doubts else Standing.READY),
            **dict.fromkeys(bad, Standing.STAGED),
            **dict.fromkeys(missing, Standing.MISSING),
            **self._public_only(good),
        }
        return self._conclude(good, refusals, standing, handed_over=True)

    def _assess_without_hand_over(
        self, good: Mapping[str, StoredObject], strays: Iterable[str], refusals: list[Refusal]
    ) -> RoleAssessment:
        missing = self._missing(good)
        fresh = [
            key
            for key, stored in good.items()
            if not self._snapshot.is_public(key, stored.digest, self._published)
        ]
        pointers = self._staging.objects.keys() & self._pointers.keys()
        if missing or fresh or pointers:
            refusals = [*refusals, self._refuse_no_hand_over(len(good) + len(pointers), len(missing))]
        standing = {
            **dict.fromkeys(strays, Standing.EXTRA),
            **stand(good, self._published, self._snapshot, Standing.STAGED),
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
        there = good.keys() | list_trusted(self._all_expected, self._published)
        # What the release manager signs is not owed by the builder that might have.
        return [
            key for key in find_missing(self._expected, there) if self._all_expected[key].role == self._role
        ]

    def _public_only(self, good: Mapping[str, StoredObject]) -> dict[str, Standing]:
        return {
            key: Standing.PUBLIC
            for key in self._expected
            if self._all_expected[key].role == self._role and key in self._published and key not in good
        }

    def _refuse_stray(self, key: str) -> Refusal:
        item = self._all_expected.get(key)
        where = f"{self._role}/{self._release}/{key}"
        remove = f"{self._role} removes it: aws s3 rm s3://<staging>/{where}"
        remove += "" if self._tests else "; then it hands over again"
        if item is None:
            return Refusal("extra", key, f"{where}, a name the profile does not know", "no such file", remove)
        if not item.is_from(self._role):
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
        if self._expected[key].format in SIGNATURES:
            return refuse_unsigned(self._expected[key], self._snapshot)
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
        there = self._read_digests()
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

    def _read_digests(self) -> dict[str, Digest]:
        """Give the digests of everything that the hand-over has to list."""
        there = {key: stored.digest for key, stored in self._staging.objects.items()}
        if self._staging.commit:
            there[sums.COMMIT_NAME] = of_bytes(self._staging.commit.data)
        if self._staging.pointers and self._staging.pointers.file:
            there[POINTERS_NAME] = of_bytes(self._staging.pointers.file.data)
        return there

    def _check_unstaged(self, name: str, listed: Digest, where: str) -> Iterator[Refusal]:
        """Check a name that is handed over and not staged: its copy may have expired once it was public."""
        public = self._published.get(name)
        if self._snapshot.is_public(name, listed, self._published):
            return
        if public is None:
            cure = f"{self._role} uploads it, or hands over again without it"
            yield Refusal("hand-over", name, f"it in {where} only", "it staged too", cure)
        else:
            cure = f"a public file never changes: {self._role} hands over again without it"
            found, expected = f"{display(listed)} in {where}", f"{display(public)}, which is public already"
            yield Refusal("public", name, found, expected, cure)

    def _check_signers(self) -> Iterator[Refusal]:
        fresh = any(
            not self._snapshot.is_public(key, stored.digest, self._published)
            for key, stored in self._staging.objects.items()
        )
        if not self._signers or not fresh:
            return
        signed = self._staging.signed
        where = f"{self._role}/{self._release}/{sums.SIGNATURE_NAME}"
        cure = f"{self._role} hands over again, logged in as one of them"
        if signed is None:
            found = f"no {sums.SIGNATURE_NAME}"
            yield Refusal("signature", where, found, f"one by {describe(self._signers)}", cure)
        elif isinstance(signed, Rejected):
            hint = f"{signed.hint}; {cure}" if signed.hint else cure
            yield Refusal("signature", where, signed.found, signed.expected, hint)

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
