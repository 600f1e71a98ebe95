"""What a project's releases consist of: kinds, series, roles and the artifacts expected of each."""

import re
import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from itertools import product

from publisher.core import keys
from publisher.core.identity import Identity
from publisher.core.listing_rules import ListingRules
from publisher.core.refusals import Refusal
from publisher.core.signing import SIGSTORE, Accepted, Format

RM = "_rm"
"""The staging prefix of the release manager, who delivers sidecars only; no role can have this name."""

END_OF_LIFE = "end-of-life"


class Need(StrEnum):
    """Whether a kind of release contains an artifact."""

    REQUIRED = "required"
    OPTIONAL = "optional"
    FORBIDDEN = "forbidden"


class Duty(StrEnum):
    """What a role does: it delivers artifacts, or it tests what others delivered."""

    DELIVERS = "delivers"
    TESTS = "tests"


@dataclass(frozen=True, slots=True)
class Role:
    """A builder or tester. `reads` names the roles whose staged files it may fetch.

    If there are any `signers`, a hand-over counts only with a signature by one of them.
    """

    name: str
    owner: str
    duty: Duty
    reads: tuple[str, ...]
    signers: tuple[Identity, ...] = ()


@dataclass(frozen=True, slots=True)
class Series:
    """A line of releases and its status, which holds from `since` to `until`, both included."""

    name: str
    status: str
    since: date | None = None
    until: date | None = None


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of release: that of every release whose version groups and series status match `when`."""

    name: str
    when: Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Release:
    """A version name, taken apart by the profile."""

    name: str
    groups: Mapping[str, str]
    series: str | None
    kind: str


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the release database, for one artifact."""

    name: str
    slug: str
    os: str
    description: str
    button: bool


@dataclass(frozen=True, slots=True)
class RowRule:
    """How to make the `Row` of an artifact: templates over version groups and `each` values."""

    name: str
    os: str
    description: str
    button: bool


@dataclass(frozen=True, slots=True)
class Delivery:
    """How the bytes of an artifact or sidecar are served: media type, cache class, `Cache-Control`."""

    content_type: str
    cache_class: str
    cache_control: str


@dataclass(frozen=True, slots=True)
class SidecarRule:
    """A file about an artifact: `<artifact><suffix>`. `series` of None means all of them."""

    suffix: str
    by_rm: bool
    need: Need
    series: frozenset[str] | None
    delivery: Delivery
    format: Format = Format.FILE


@dataclass(frozen=True, slots=True)
class ArtifactRule:
    """A family of artifacts: one for each combination of the values in `each`.

    `needs` says for which kinds it is required or optional; for any other kind it is forbidden. It is signed
    in releases of the kinds in `sign`, and has the Sigstore sidecars there only.
    """

    key: str
    each: Mapping[str, tuple[str, ...]]
    role: str
    needs: Mapping[str, Need]
    series: frozenset[str] | None
    delivery: Delivery
    sign: frozenset[str]
    sidecars: tuple[SidecarRule, ...]
    row: RowRule | None


@dataclass(frozen=True, slots=True)
class RecordRule:
    """Where the records of promotions become public: a template over version groups and `number`."""

    key: str
    delivery: Delivery


@dataclass(frozen=True, slots=True)
class SignalRule:
    """A URL of others that has to answer before a release is listed or announced, such as a git tag.

    `url` is a template over version groups; `kinds` of None means releases of all kinds.
    """

    name: str
    url: str
    kinds: frozenset[str] | None


@dataclass(frozen=True, slots=True)
class Signal:
    """One such URL, of one release."""

    name: str
    url: str


@dataclass(frozen=True, slots=True)
class PageRule:
    """Index pages for `root` (a folder, or empty) and all folders below; `title` is the site's name.

    `hidden` is a regular expression of whole public keys that no page shows: the records.
    """

    root: str
    title: str
    hidden: str | None


@dataclass(frozen=True, slots=True)
class PointerRule:
    """A set of mutable public files, written in the order of `files`: how each key is served.

    The file that is another one whenever the set is comes first. `required` names the kinds of release that
    have to bring a new one.
    """

    name: str
    role: str
    files: Mapping[str, Delivery]
    required: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class AliasRule:
    """A folder `name` that stands for the folder `to` of the highest release of `kinds`.

    Both are templates over version groups, without slashes at their ends; releases that make the same `name`
    compete for it. `series` of None means all of them.
    """

    name: str
    to: str
    kinds: frozenset[str]
    series: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class PublicRecord:
    """Where a record becomes public, beside what it tells of."""

    key: str
    delivery: Delivery


@dataclass(frozen=True, slots=True)
class Expected:
    """One public key of one release, as the profile wants it.

    `role` may be `RM`. `artifact` is the key that a sidecar is about, None for an artifact. A required
    sidecar is required only where its artifact is there. `builder` is who may deliver it instead of the
    release manager.
    """

    key: str
    role: str
    need: Need
    delivery: Delivery
    sign: bool = False
    artifact: str | None = None
    row: Row | None = None
    format: Format = Format.FILE
    builder: str | None = None

    def is_from(self, role: str) -> bool:
        """Tell whether `role` may deliver it."""
        return role in {self.role, self.builder}


@dataclass(frozen=True, slots=True)
class Profile:
    """The rules of one project.

    `digest` is that of the file it was read from. `slug` lists the parts of a row's slug. `keyring` names the
    file, beside it, with the certificates that OpenPGP signatures are checked with. `content_types` gives the
    media type by the end of a name.
    """

    name: str
    digest: str
    version: re.Pattern[str]
    base_url: str
    key_prefix: str
    kinds: tuple[Kind, ...]
    series: Mapping[str, Series]
    roles: Mapping[str, Role]
    artifacts: tuple[ArtifactRule, ...]
    slug: tuple[str, ...]
    commit_required: bool
    accepted: Accepted = field(default_factory=Accepted)
    record: RecordRule | None = None
    keyring: str | None = None
    listing: ListingRules | None = None
    signals: tuple[SignalRule, ...] = ()
    pages: PageRule | None = None
    content_types: Mapping[str, str] = field(default_factory=dict[str, str])
    pointers: tuple[PointerRule, ...] = ()
    aliases: tuple[AliasRule, ...] = ()

    def parse_release(self, name: str) -> Release | None:
        """Take `name` apart, or answer None if it is no version of this project."""
        match = self.version.fullmatch(name)
        # A name is one folder of the staging keys, whatever the pattern would let through.
        if match is None or "/" in name or keys.find_problem(name):
            return None
        groups = {group: value or "" for group, value in match.groupdict().items()}
        series = groups.get("series") if self.series else None
        status = self.series[series].status if series and series in self.series else ""
        facts = {**groups, "status": status}
        for kind in self.kinds:
            if all(facts[fact] in allowed for fact, allowed in kind.when.items()):
                return Release(name, groups, series, kind.name)
        return None

    def refuse_series(self, release: Release, today: date) -> tuple[Refusal, ...]:
        """Refuse a release of a series that the profile does not know, or no longer knows truly."""
        if release.series is None:
            return ()
        series = self.series.get(release.series)
        if series is None:
            return (
                Refusal(
                    "series",
                    release.name,
                    f"series {release.series}",
                    f"one of {', '.join(self.series)}",
                    "correct the version, or add the series to the profile",
                ),
            )
        if series.status == END_OF_LIFE:
            return (
                Refusal(
                    "series",
                    release.name,
                    f"series {series.name}, which is {END_OF_LIFE}",
                    "a series that still gets releases",
                    "correct the version, or the status of the series in the profile",
                ),
            )
        return _refuse_outdated(release, series, today)

    def expect(self, release: Release) -> Mapping[str, Expected]:
        """List every public key that `release` may contain, the forbidden ones of its series included."""
        return {expected.key: expected for rule in self.artifacts for expected in self._expand(rule, release)}

    def find_identities(self, release: Release) -> tuple[Identity, ...]:
        """Name who may sign `release`; nobody may, if its series is unknown."""
        return self.accepted.find(release.name, release.series)

    def find_recorders(self, release: Release) -> tuple[Identity, ...]:
        """Name who may sign the records of `release`: who may sign it, and who may sign all records."""
        return tuple(dict.fromkeys((*self.find_identities(release), *self.accepted.records)))

    def list_signals(self, release: Release) -> tuple[Signal, ...]:
        """List what others have to show before `release` is listed."""
        names = {**release.groups, "release": release.name}
        return tuple(
            Signal(rule.name, rule.url.format_map(names))
            for rule in self.signals
            if rule.kinds is None or release.kind in rule.kinds
        )

    def place_record(self, release: Release, number: int) -> PublicRecord | None:
        """Say where a release's record becomes public; nowhere, if records stay in the staging bucket."""
        if self.record is None:
            return None
        names = {**release.groups, "release": release.name, "number": str(number)}
        return PublicRecord(self.record.key.format_map(names), self.record.delivery)

    def list_pointers(self, role: str) -> Mapping[str, Delivery]:
        """List the mutable public files that `role` delivers, in sets: how each key is served."""
        sets = (rule.files for rule in self.pointers if rule.role == role)
        return {key: delivery for files in sets for key, delivery in files.items()}

    def url(self, key: str) -> str:
        """Give the canonical URL of a public key."""
        return self.base_url + key.removeprefix(self.key_prefix)

    def deliverers(self) -> tuple[str, ...]:
        """Name the roles that deliver artifacts."""
        return tuple(role.name for role in self.roles.values() if role.duty is Duty.DELIVERS)

    def _expand(self, rule: ArtifactRule, release: Release) -> Iterator[Expected]:
        if rule.series is not None and release.series not in rule.series:
            return
        need = rule.needs.get(release.kind, Need.FORBIDDEN)
        sign = release.kind in rule.sign
        for values in product(*rule.each.values()):
            names = {"release": release.name, **release.groups, **dict(zip(rule.each, values, strict=True))}
            key = rule.key.format_map(names)
            row = self._make_row(rule.row, names) if rule.row else None
            yield Expected(key, rule.role, need, rule.delivery, sign=sign, row=row)
            for sidecar in rule.sidecars:
                if sidecar.format in SIGSTORE and not sign:
                    continue
                if sidecar.series is None or release.series in sidecar.series:
                    yield Expected(
                        key + sidecar.suffix,
                        RM if sidecar.by_rm else rule.role,
                        Need.FORBIDDEN if need is Need.FORBIDDEN else sidecar.need,
                        sidecar.delivery,
                        artifact=key,
                        format=sidecar.format,
                        # A builder's own bundle is as good as the release manager's.
                        builder=rule.role if sidecar.format in SIGSTORE else None,
                    )

    def _make_row(self, rule: RowRule, names: Mapping[str, str]) -> Row:
        title = rule.name.format_map(names)
        # The site's own release script makes slugs this way: blanks to dashes, the rest dropped, 40 at most.
        short = re.sub(r"[^a-zA-Z0-9_-]", "", title.replace(" ", "-"))[:40]
        parts = (part.format_map({**names, "row": short}) for part in self.slug)
        return Row(
            name=title,
            # Versions have dots, slugs may not.
            slug="-".join(part for part in parts if part).replace(".", "-"),
            os=rule.os,
            description=rule.description.format_map(names),
            button=rule.button,
        )


def placeholders(template: str) -> tuple[str, ...]:
    """Name the `{placeholders}` of a template.

    Raises:
        ValueError: The braces do not match, or a placeholder is more than a name.
    """
    names: list[str] = []
    for _, name, spec, conversion in string.Formatter().parse(template):
        if name is None:
            continue
        if not name.isidentifier() or spec or conversion:
            raise ValueError("expected a plain name between braces, such as {release}")
        names.append(name)
    return tuple(names)


def _refuse_outdated(release: Release, series: Series, today: date) -> tuple[Refusal, ...]:
    early = series.since is not None and today < series.since
    late = series.until is not None and today > series.until
    if not (early or late):
        return ()
    held = f"from {series.since or 'the start'} to {series.until or 'now'}"
    return (
        Refusal(
            "series",
            release.name,
            f"series {series.name} as {series.status!r} {held}; today is {today}",
            "a status that holds today",
            f"bring [series.{series.name!r}] of the profile up to date",
        ),
    )
