"""The order of a page's names: the one people expect of versions, which is not that of their characters."""

import re
from typing import Final

_EARLY: Final = {"dev": 0, "a": 1, "alpha": 1, "b": 2, "beta": 2, "c": 3, "rc": 3, "pre": 3, "preview": 3}
_TOKEN = re.compile(
    r"(?<=[0-9])[._-]?(?P<early>dev|alpha|beta|preview|pre|rc|a|b|c)[._-]?(?P<attempt>[0-9]+)"
    r"|(?<=[0-9])[._-]?post[._-]?(?P<post>[0-9]+)"
    r"|(?<=[0-9])\.(?P<segment>[0-9]+)"
    r"|(?P<number>[0-9]+)"
    r"|(?P<text>[^0-9]+)"
)
# What may follow one and the same beginning, first to last: 3.14.0a1.tgz, 3.14.0, 3.14.0.tgz,
# 3.14.0.post1.tgz, 3.14.0.1.tgz. A number stands before text where names begin with either.
_EARLIER, _END, _NUMBER, _TEXT, _POST, _SEGMENT = range(6)

OrderToken = tuple[int, int, int, str]
"""One piece of a name: what it is, up to two numbers, and text."""

OrderKey = tuple[tuple[OrderToken, ...], str]
"""What names are compared by; no two names have the same."""


def make_order_key(name: str) -> OrderKey:
    """Give what sorts `name` among its neighbours.

    Numbers count as numbers (3.9 before 3.10), a pre-release comes before its final (dev, a, b, rc), and the
    case of letters matters only between names that are otherwise the same.
    """
    tokens = [_read_token(match) for match in _TOKEN.finditer(name.casefold())]
    return (*tokens, (_END, 0, 0, "")), name


def _read_token(match: re.Match[str]) -> OrderToken:
    kind, text = match.lastgroup, match[0]
    if kind == "attempt":
        return _EARLIER, _EARLY[match["early"]], int(match["attempt"]), ""
    if kind == "post":
        return _POST, int(match["post"]), 0, ""
    if kind == "segment":
        return _SEGMENT, int(match["segment"]), 0, ""
    return (_NUMBER, int(text), 0, "") if kind == "number" else (_TEXT, 0, 0, text)
