"""Reads a profile: TOML, checked key by key, turned into the core's `Profile`."""

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import get_args

from pydantic import ValidationError

from publisher.core import keys
from publisher.core.digests import of_bytes
from publisher.core.listing_rules import ListingRules
from publisher.core.profile import (
    ArtifactRule,
    Delivery,
    Duty,
    Kind,
    Need,
    PageRule,
    Profile,
    RecordRule,
    Role,
    RowRule,
    Series,
    SidecarRule,
    SignalRule,
    placeholders,
)
from publisher.core.signing import SIGSTORE, Format
from publisher.documents.mutable import Helpers, MutableReader
from publisher.documents.problems import explain
from publisher.documents.signers import SignerReader
from publisher.documents.tables import DEFAULT_KINDS, ArtifactTable, ProfileFile, Status
from publisher.errors import ConfigError

DEFAULT_CONTENT_TYPE = "application/octet-stream"


def load_profile(path: Path) -> Profile:
    """Read and check the profile at `path`.

    Raises:
        ConfigError: The file cannot be read, or something in it is wrong; every problem is named.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read the profile {path}: {error.strerror}") from error
    return parse_profile(data, str(path))


def parse_profile(data: bytes, name: str) -> Profile:
    """Read and check a profile from its bytes; `name` is what errors call it.

    Raises:
        ConfigError: Something in it is wrong; every problem is named.
    """
    try:
        tables = ProfileFile.model_validate(tomllib.loads(data.decode()))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{name} is not TOML: {error}") from error
    except ValidationError as error:
        raise ConfigError(explain(name, ProfileFile, error)) from error
    return _Converter(name, tables).convert(of_bytes(data))


class _Converter:
    """Turns checked tables into core values, collecting what no single table can know to be wrong."""

    def __init__(self, name: str, tables: ProfileFile) -> None:
        self._name = name
        self._file = tables
        self._problems: list[str] = []
        self._order = list(tables.series)
        self._kinds = tables.kinds or DEFAULT_KINDS
        self._signers = SignerReader(tables, self._report)

    def convert(self, digest: str) -> Profile:
        version = self._compile_version()
        groups = set(version.groupindex)
        self._check_names(groups)
        accepted = self._signers.read_accepted()
        for name in accepted.releases:
            if not version.fullmatch(name):
                self._report("identity.release", repr(name), "versions as project.version has them")
        roles = {
            role: Role(
                role,
                table.owner,
                Duty(table.duty),
                tuple(table.reads),
                self._signers.read(f"roles.{role}.signers", table.signers),
            )
            for role, table in self._file.roles.items()
        }
        record = self._make_record(groups)
        listing = self._make_listing(groups)
        signals = tuple(self._make_signals(groups))
        artifacts = tuple(
            self._make_artifact(f"artifact[{index}] ({table.key})", table, groups)
            for index, table in enumerate(self._file.artifact)
        )
        helpers = Helpers(self._report, self._deliver, self._kinds_of, self._range, self._check_template)
        mutable = MutableReader(self._file, helpers)
        pointers, aliases = tuple(mutable.read_pointers()), tuple(mutable.read_aliases(groups))
        self._raise_problems()
        self._check_unique(artifacts)
        mutable.check_keys(
            key for rule in artifacts for series in self._order or [None] for key in _list_keys(rule, series)
        )
        self._raise_problems()
        project = self._file.project
        return Profile(
            name=project.name,
            digest=digest,
            version=version,
            base_url=project.base_url,
            key_prefix=project.key_prefix,
            kinds=tuple(
                Kind(kind, {fact: frozenset(allowed) for fact, allowed in when.items()})
                for kind, when in self._kinds.items()
            ),
            series={
                series: Series(series, table.status, table.since, table.until)
                for series, table in self._file.series.items()
            },
            roles=roles,
            artifacts=artifacts,
            slug=tuple(self._file.listing.slug),
            commit_required=self._file.handover.commit,
            accepted=accepted,
            record=record,
            listing=listing,
            signals=signals,
            pages=self._make_pages(),
            pointers=pointers,
            aliases=aliases,
            content_types=self._file.content_types,
            keyring=self._file.openpgp.keys if self._file.openpgp else None,
        )

    def _make_record(self, groups: set[str]) -> RecordRule | None:
        table = self._file.record
        if table is None:
            return None
        self._check("record.class", table.cache_class, self._file.classes)
        self._check_template("record.key", table.key, {*groups, "release", "number"})
        for needed in ("release", "number"):
            if needed not in placeholders(table.key):
                self._report("record.key", table.key, f"{{{needed}}} in it: each record has its own key")
        if not table.key.startswith(self._file.project.key_prefix):
            self._report("record.key", table.key, f"a key under {self._file.project.key_prefix!r}")
        return RecordRule(table.key, self._deliver(table.key, table.cache_class))

    def _make_pages(self) -> PageRule | None:
        if not self._file.pages.show:
            return None
        record = self._file.record
        # Records have their keys beside the files, and are no downloads.
        hidden = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(record.key)) if record else None
        title = self._file.pages.title
        root = self._file.project.key_prefix.rstrip("/")
        return PageRule(root, self._file.project.name if title is None else title, hidden)

    def _make_listing(self, groups: set[str]) -> ListingRules | None:
        table = self._file.listing
        if table.release_name is None or table.release_slug is None:
            if any((table.release_name, table.release_slug, table.systems, table.notes, table.pre_kinds)):
                self._report("listing", "no release_name or no release_slug", "both, or no database at all")
            return None
        for where, template in (
            ("release_name", table.release_name),
            ("release_slug", table.release_slug),
            *((f"notes.{kind}", template) for kind, template in table.notes.items()),
        ):
            self._check_template(f"listing.{where}", template, {*groups, "release"})
        for kind in (*table.pre_kinds, *table.notes):
            self._check("listing", kind, self._kinds)
        for index, artifact in enumerate(self._file.artifact):
            if artifact.row:
                self._check(f"artifact[{index}].row.os", artifact.row.os, table.systems)
        return ListingRules(
            release_name=table.release_name,
            release_slug=table.release_slug,
            version=table.version,
            pre_kinds=frozenset(table.pre_kinds),
            notes=table.notes,
            systems=table.systems,
            source=table.source,
            url_prefix=table.url_prefix or self._file.project.base_url,
        )

    def _make_signals(self, groups: set[str]) -> Iterator[SignalRule]:
        for index, table in enumerate(self._file.outside):
            where = f"outside[{index}]"
            self._check_template(f"{where}.url", table.url, {*groups, "release"})
            kinds = self._kinds_of(f"{where}.kinds", table.kinds)
            yield SignalRule(table.name, table.url, frozenset(kinds) if kinds else None)

    def _raise_problems(self) -> None:
        if self._problems:
            problems = dict.fromkeys(self._problems)
            raise ConfigError("\n".join(f"{self._name}: {problem}" for problem in problems))

    def _compile_version(self) -> re.Pattern[str]:
        # Versions become keys, so \d must not mean the digits of every script.
        try:
            return re.compile(self._file.project.version, re.ASCII)
        except re.error as error:
            raise ConfigError(
                f"{self._name}: project.version is not a regular expression: {error}"
            ) from error

    def _check_names(self, groups: set[str]) -> None:
        if self._file.series and "series" not in groups:
            self._report("project.version", "no group 'series'", "(?P<series>…), since [series] is used")
        if self._file.signing.cache_class:
            self._check("signing.class", self._file.signing.cache_class, self._file.classes)
        self._check_kinds(groups)
        self._check_dates()
        for role, table in self._file.roles.items():
            if table.signers and table.duty == "tests":
                self._report(f"roles.{role}.signers", "them for a tester", "signers of a role that delivers")
            for other in table.reads:
                self._check(f"roles.{role}.reads", other, self._file.roles)
        for part in self._file.listing.slug:
            self._check_template("listing.slug", part, {*groups, "release", "row"})

    def _check_kinds(self, groups: set[str]) -> None:
        for kind, when in self._kinds.items():
            for fact in when:
                self._check(f"kinds.{kind}.{fact}", fact, {*groups, "status"})
            for status in when.get("status", []):
                self._check(f"kinds.{kind}.status", status, get_args(Status))

    def _check_dates(self) -> None:
        for series, table in self._file.series.items():
            if table.since and table.until and table.since > table.until:
                held = f"since {table.since} until {table.until}"
                self._report(f"series.{series}", held, "until on or after since")

    def _make_artifact(self, where: str, table: ArtifactTable, groups: set[str]) -> ArtifactRule:
        names = {*groups, "release", *table.each}
        self._check_artifact(where, table, names)
        own = (
            SidecarRule(
                side.suffix,
                by_rm=side.by == "rm",
                need=Need(side.need),
                series=self._range(f"{where}.sidecars", side.since, side.until),
                delivery=self._deliver(side.suffix, side.cache_class or table.cache_class),
                format=Format(side.format),
            )
            for side in table.sidecars
        )
        row = table.row and RowRule(table.row.name, table.row.os, table.row.description, table.row.button)
        return ArtifactRule(
            key=table.key,
            each={name: tuple(values) for name, values in table.each.items()},
            role=table.role,
            needs=self._needs(where, table),
            series=self._range(where, table.since, table.until),
            delivery=self._deliver(table.key, table.cache_class, table.content_type),
            sign=frozenset(self._kinds_of(f"{where}.sign", self._list_signed(table))),
            sidecars=(*own, *(self._sign(table) if table.sign else ())),
            row=row,
        )

    def _list_signed(self, table: ArtifactTable) -> list[str]:
        if isinstance(table.sign, bool):
            return ["all"] if table.sign else []
        return table.sign

    def _sign(self, table: ArtifactTable) -> Iterator[SidecarRule]:
        """Make the rules of the sidecars that signing an artifact makes."""
        signing = self._file.signing
        for kind, suffix in zip(
            SIGSTORE, (signing.bundle, signing.signature, signing.certificate), strict=True
        ):
            if suffix:
                delivery = self._deliver(suffix, signing.cache_class or table.cache_class)
                yield SidecarRule(
                    suffix, by_rm=True, need=Need.REQUIRED, series=None, delivery=delivery, format=kind
                )

    def _check_artifact(self, where: str, table: ArtifactTable, names: set[str]) -> None:
        self._check_keys(f"{where}.sidecars", table)
        for used in (table.cache_class, *(side.cache_class for side in table.sidecars)):
            self._check(f"{where}.class", used or table.cache_class, self._file.classes)
        self._check_template(f"{where}.key", table.key, names)
        if table.row:
            self._check_template(f"{where}.row.name", table.row.name, names)
            self._check_template(f"{where}.row.description", table.row.description, names)
        if not table.key.startswith(self._file.project.key_prefix):
            self._report(f"{where}.key", table.key, f"a key under {self._file.project.key_prefix!r}")
        for key in _expand_keys(table.key, table.each):
            problem = keys.find_problem(re.sub(r"\{\w+\}", "x", key))
            if problem:
                self._report(f"{where}.key", f"{key!r}: {problem}", "a key that may be public")
            if table.content_type is None and self._find_suffix(key) != self._find_suffix(table.key):
                hidden = f"the suffix {self._find_suffix(key)!r} made by {{…}}"
                self._report(f"{where}.key", hidden, "it written out, or a content_type")
        role = self._file.roles.get(table.role)
        if role is None or role.duty == "tests":
            delivering = [name for name, other in self._file.roles.items() if other.duty == "delivers"]
            self._report(f"{where}.role", repr(table.role), f"a role that delivers: {', '.join(delivering)}")

    def _check_keys(self, where: str, table: ArtifactTable) -> None:
        if self._file.openpgp is None and any(side.format == "openpgp" for side in table.sidecars):
            self._report(where, "format 'openpgp'", "[openpgp] with the keys that count")

    def _needs(self, where: str, table: ArtifactTable) -> Mapping[str, Need]:
        required = self._kinds_of(f"{where}.required", table.required)
        optional = self._kinds_of(f"{where}.optional", table.optional)
        if not required and not optional:
            required = list(self._kinds)
        for kind in set(required) & set(optional):
            self._report(where, f"kind {kind!r} both required and optional", "one of the two")
        return dict.fromkeys(required, Need.REQUIRED) | dict.fromkeys(optional, Need.OPTIONAL)

    def _kinds_of(self, where: str, words: list[str]) -> list[str]:
        for kind in words:
            self._check(where, kind, [*self._kinds, "all"])
        return list(self._kinds) if "all" in words else words

    def _range(self, where: str, since: str | None, until: str | None) -> frozenset[str] | None:
        if since is None and until is None:
            return None
        for bound in (since, until):
            if bound is not None and bound not in self._order:
                self._check(where, bound, self._order)
                return frozenset()
        first = self._order.index(since) if since is not None else 0
        last = self._order.index(until) if until is not None else len(self._order) - 1
        if first > last:
            self._report(where, f"since {since} until {until}", "a range in the order of [series]")
        return frozenset(self._order[first : last + 1])

    def _deliver(self, name: str, cache_class: str, content_type: str | None = None) -> Delivery:
        known = self._file.content_types.get(self._find_suffix(name), DEFAULT_CONTENT_TYPE)
        return Delivery(content_type or known, cache_class, self._file.classes.get(cache_class, ""))

    def _find_suffix(self, name: str) -> str:
        """Find the longest suffix of `name` that has a content type; none is the empty one."""
        return max((s for s in self._file.content_types if name.endswith(s)), key=len, default="")

    def _check_unique(self, artifacts: tuple[ArtifactRule, ...]) -> None:
        for series in self._order or [None]:
            makers: dict[str, str] = {}
            for index, rule in enumerate(artifacts):
                where = f"artifact[{index}] ({rule.key})"
                for key in _list_keys(rule, series):
                    if key in makers:
                        self._report(where, f"{key!r}, which {makers[key]} makes too", "each key once")
                    makers[key] = where

    def _check_template(self, where: str, template: str, names: set[str]) -> None:
        for name in placeholders(template):
            self._check(where, f"{{{name}}}", {f"{{{known}}}" for known in names})

    def _check(self, where: str, found: str, allowed: Collection[str]) -> None:
        if found not in allowed:
            self._report(where, repr(found), f"one of {', '.join(sorted(allowed)) or 'none'}")

    def _report(self, where: str, found: str, expected: str) -> None:
        self._problems.append(f"{where}: found {found}, expected {expected}")


def _expand_keys(template: str, each: Mapping[str, Collection[str]]) -> Iterator[str]:
    """Fill in the `each` values of a key; the placeholders of version groups stay as they are."""
    for values in product(*each.values()):
        names = dict(zip(each, values, strict=True))
        yield re.sub(r"\{(\w+)\}", lambda match, names=names: names.get(match[1], match[0]), template)


def _list_keys(rule: ArtifactRule, series: str | None) -> Iterator[str]:
    if rule.series is not None and series not in rule.series:
        return
    for key in _expand_keys(rule.key, rule.each):
        yield key
        for sidecar in rule.sidecars:
            if sidecar.series is None or series in sidecar.series:
                yield key + sidecar.suffix
