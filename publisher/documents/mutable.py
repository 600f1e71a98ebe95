"""Reads what of a site is mutable: sets of pointers, and aliases."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from publisher.core import keys, sums
from publisher.core.aliases import find_rule_problems
from publisher.core.pointers import NAME as POINTERS_NAME
from publisher.core.profile import AliasRule, Delivery, PointerRule
from publisher.documents.signers import Report
from publisher.documents.tables import PointerTable, ProfileFile

IMMUTABLE = "immutable"
_OWN = (sums.NAME, sums.COMMIT_NAME, POINTERS_NAME)


@dataclass(frozen=True, slots=True)
class Helpers:
    """What the profile's other tables are read with too."""

    report: Report
    deliver: Callable[[str, str], Delivery]
    find_kinds: Callable[[str, list[str]], list[str]]
    find_series: Callable[[str, str | None, str | None], frozenset[str] | None]
    check_template: Callable[[str, str, set[str]], None]


class MutableReader:
    """Turns the tables of pointers and aliases into the core's values; what is wrong is reported."""

    def __init__(self, tables: ProfileFile, helpers: Helpers) -> None:
        self._file = tables
        self._helpers = helpers
        self._report = helpers.report

    def read_pointers(self) -> Iterator[PointerRule]:
        """Read the sets, in the order in which they are swapped."""
        taken: dict[str, str] = {}
        names: set[str] = set()
        for index, table in enumerate(self._file.pointer):
            where = f"pointer[{index}] ({table.name})"
            self._check_pointer(where, table)
            if table.name in names:
                self._report(f"{where}.name", "it for the second time", "each name once")
            names.add(table.name)
            for key in table.files:
                if key in taken:
                    self._report(f"{where}.files", f"{key!r}, which is in {taken[key]} too", "each key once")
                taken[key] = where
            required = self._helpers.find_kinds(f"{where}.required", table.required)
            files = {key: self._helpers.deliver(key, table.cache_class) for key in table.files}
            yield PointerRule(table.name, table.role, files, frozenset(required))

    def read_aliases(self, groups: set[str]) -> Iterator[AliasRule]:
        """Read the aliases; `groups` are those of a version."""
        for index, table in enumerate(self._file.alias):
            where = f"alias[{index}] ({table.name})"
            for template in (table.name, table.to):
                self._helpers.check_template(where, template, {*groups, "release"})
            kinds = frozenset(self._helpers.find_kinds(f"{where}.kinds", table.kinds))
            series = self._helpers.find_series(where, table.since, table.until)
            rule = AliasRule(table.name.rstrip("/"), table.to.rstrip("/"), kinds, series)
            for problem in find_rule_problems(rule):
                self._report(where, problem, "a folder that moves, and leads to a release's")
            yield rule

    def check_keys(self, artifacts: Iterable[str]) -> None:
        """Check that no mutable file has an artifact's key, and no artifact that of a hand-over's file."""
        made = set(artifacts)
        for key in _OWN:
            if key in made:
                self._report("artifact.key", repr(key), "another key: that file says what was handed over")
        for index, table in enumerate(self._file.pointer):
            for key in table.files:
                if key in made:
                    where = f"pointer[{index}] ({table.name}).files"
                    self._report(where, f"{key!r}, an artifact's key", "a file that may change")

    def _check_pointer(self, where: str, table: PointerTable) -> None:
        role = self._file.roles.get(table.role)
        if role is None or role.duty == "tests":
            delivering = [name for name, other in self._file.roles.items() if other.duty == "delivers"]
            wanted = f"a role that delivers: {', '.join(delivering)}"
            self._report(f"{where}.role", repr(table.role), wanted)
        classes = sorted(self._file.classes.keys() - {IMMUTABLE})
        if table.cache_class not in classes:
            wanted = f"one of {', '.join(classes) or 'none'}: these files change"
            self._report(f"{where}.class", repr(table.cache_class), wanted)
        prefix = self._file.project.key_prefix
        for key in table.files:
            problem = keys.find_problem(key)
            if problem:
                self._report(f"{where}.files", f"{key!r}: {problem}", "a key that may be public")
            if not key.startswith(prefix):
                self._report(f"{where}.files", repr(key), f"a key under {prefix!r}")
