"""What may be said of one release: which files are ready, and every reason why it may not go public."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from publisher.core.delivery import Delivered, RoleAssessment
from publisher.core.digests import Digest
from publisher.core.handover import RoleRules
from publisher.core.profile import RM, Profile
from publisher.core.refusals import Refusal
from publisher.core.sidecars import assess_sidecars
from publisher.core.snapshot import ReleaseSnapshot, RoleStaging


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
    roles = {role: RoleRules(role, snapshot, profile, expected, published).assess() for role in profile.roles}
    roles[RM] = assess_sidecars(snapshot, expected, published, roles)
    refusals = [
        *(
            ()
            if snapshot.state
            else (refuse_unopened(snapshot.release.name, commit=profile.commit_required),)
        ),
        *_refuse_holds(snapshot, profile),
    ]
    return Assessment(snapshot, roles, tuple(refusals))


def is_settled(
    snapshot: ReleaseSnapshot, published: Mapping[str, Digest], pointers: Collection[tuple[str, str]] = ()
) -> bool:
    """Tell whether `snapshot` was promoted before and nothing staged since differs from what is public.

    `pointers` are roles with the keys of mutable files that they deliver, which are not looked at.
    """
    staged = [(role, staging.objects) for role, staging in snapshot.roles.items()] + [(RM, snapshot.rm)]
    return bool(snapshot.numbers) and all(
        (role, key) in pointers or snapshot.is_public(key, stored.digest, published)
        for role, objects in staged
        for key, stored in objects.items()
    )


def refuse_unopened(name: str, *, commit: bool) -> Refusal:
    """Refuse to work on a release that was never opened; `commit` tells that opening takes one."""
    cure = f"correct the version, or run: publisher open {name}{' --commit SHA' if commit else ''}"
    return Refusal("not-open", name, "no such release open", "an open one", cure)


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
