"""Reads a stack's configuration value by value, and collects what is wrong instead of stopping."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

Table = Mapping[str, object]


class StackConfigError(Exception):
    """The configuration cannot be used; the text names every problem, one a line."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(("the stack's configuration has problems:", *problems)))
        self.problems = tuple(problems)


@dataclass(slots=True)
class Reader:
    """Takes typed values out of a table. A value that is wrong is reported, and answered with an empty one.

    `broken` names the reported values of this table, so that rules about several of them can leave them out.
    """

    table: Table
    where: str = ""
    problems: list[str] = field(default_factory=list[str])
    broken: set[str] = field(default_factory=set[str])

    def text(
        self, key: str, pattern: str = r"\S.*", expected: str = "a text", *, optional: bool = False
    ) -> str:
        """Read a text that matches `pattern`; an optional one may be empty or absent."""
        value = self.table.get(key, "")
        if value == "" and optional:
            return ""
        return self._match(key, value, pattern, expected) or ""

    def texts(
        self, key: str, pattern: str = r"\S.*", expected: str = "a text", *, optional: bool = False
    ) -> tuple[str, ...]:
        """Read a list of different texts that all match `pattern`; an optional one may be empty or absent."""
        items = (self._match(key, item, pattern, expected) for item in self._items(key, optional=optional))
        found = [item for item in items if item is not None]
        for item in sorted({item for item in found if found.count(item) > 1}):
            self.report(key, _show(item), "each of them once")
        return tuple(found)

    def number(self, key: str, low: int, high: int, *, optional: bool = False) -> int:
        """Read a whole number from `low` to `high`; an optional one may be absent, which means 0."""
        value = self.table.get(key)
        if optional and value is None:
            return 0
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return value
        self.report(key, _show(value), f"a whole number from {low} to {high}")
        return 0

    def flag(self, key: str, *, optional: bool = False) -> bool:
        """Read true or false; an optional one may be absent, which means false."""
        value = self.table.get(key)
        if not isinstance(value, bool) and not (optional and value is None):
            self.report(key, _show(value), "true or false")
        return value is True

    def reader(self, key: str, *, optional: bool = False) -> "Reader":
        """Step into a table of named values."""
        absent: object = {} if optional else None
        return self._step_into(key, self.table.get(key, absent), self._name(key))

    def readers(self, key: str, *, optional: bool = False) -> tuple["Reader", ...]:
        """Step into each table of a list."""
        items = self._items(key, optional=optional)
        return tuple(
            self._step_into(key, item, f"{self._name(key)}[{index}]") for index, item in enumerate(items)
        )

    def only(self, *keys: str) -> None:
        """Report every value that is none of `keys`: a misspelt name must not be passed over."""
        for key in self.table:
            if key not in keys:
                self.report(key, "a name that nothing reads", f"one of {', '.join(keys)}")

    def report(self, key: str, found: str, expected: str) -> None:
        """Keep one problem, as what was found and what is allowed."""
        self.broken.add(key)
        self.problems.append(f"{self._name(key)}: found {found}, expected {expected}")

    def _items(self, key: str, *, optional: bool) -> Sequence[object]:
        absent: object = [] if optional else None
        value = self.table.get(key, absent)
        items = cast("list[object]", value) if isinstance(value, list) else None
        if items is None or not (items or optional):
            self.report(
                key, _show(cast("object", value)), "a list" if optional else "a list that is not empty"
            )
            return ()
        return items

    def _match(self, key: str, value: object, pattern: str, expected: str) -> str | None:
        if isinstance(value, str) and re.fullmatch(pattern, value):
            return value
        self.report(key, _show(value), expected)
        return None

    def _step_into(self, key: str, value: object, where: str) -> "Reader":
        if not isinstance(value, dict):
            self.report(key, _show(value), "a table of named values")
            value = {}
        return Reader(cast("dict[str, object]", value), where, self.problems)

    def _name(self, key: str) -> str:
        return f"{self.where}.{key}" if self.where else key


def _show(value: object) -> str:
    return "nothing" if value in (None, "") else json.dumps(value, ensure_ascii=False)
