"""Links in mutable public files: which of them lead to public keys, and which of those lead to nothing."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn, cast
from urllib.parse import unquote, urlsplit

from publisher.core.keys import parents

MAX_BYTES = 8 * 1024**2
"""The largest pointer: each is read whole by the publisher, to be checked and to be written."""

JSON = ".json"

_URL = re.compile(r"""https?://[^\s"'<>`|\\^]+""", re.IGNORECASE)
_AFTER_URL = ".,;:!?*)]}"
# http and https are one site here: the CDN redirects.
_PORTS = {None, 80, 443}


@dataclass(frozen=True, slots=True)
class Site:
    """Where public keys are served: `bases` are URLs that end with a slash and stand for the key `prefix`."""

    bases: tuple[str, ...]
    prefix: str = ""

    def find_key(self, url: str) -> str | None:
        """Give the public key (or folder, with a slash at its end) that `url` means; None if it is not ours.

        It need not be a key that can be public. Query and fragment make no difference.
        """
        try:
            address = urlsplit(url)
            place = (address.hostname, _find_port(address.port))
        except ValueError:
            return None
        path = unquote(address.path)
        for base in map(urlsplit, self.bases):
            if place != (base.hostname, _find_port(base.port)):
                continue
            folder = unquote(base.path)
            if path.startswith(folder):
                return self.prefix + path.removeprefix(folder)
            if f"{path}/" == folder:
                return self.prefix
        return None


def find_links(key: str, data: bytes, site: Site) -> frozenset[str]:
    """Find the public keys (and folders, with a slash at their end) that a file's absolute URLs lead to.

    Text is searched as a whole, JSON in all of its strings, and what is neither (a catalog) not at all.

    Raises:
        ValueError: `key` says that it is JSON, and it is not.
    """
    texts = _list_strings(_parse_json(data)) if key.endswith(JSON) else _decode(data)
    urls = (match.rstrip(_AFTER_URL) for text in texts for match in _URL.findall(text))
    return frozenset(found for url in urls if (found := site.find_key(url)) is not None)


def find_dangling(links: Iterable[str], public: Collection[str], planned: Collection[str]) -> tuple[str, ...]:
    """List the `links` that lead to nothing.

    Args:
        links: Keys and folders, as `find_links` gives them.
        public: Those of them that lead to something public.
        planned: Keys that will be public with the pointer.
    """
    folders = {"", *(folder for key in planned for folder in parents(key))}
    there = {*public, *planned}
    return tuple(
        sorted(link for link in links if link not in there and link.removesuffix("/") not in folders)
    )


def _find_port(port: int | None) -> int | None:
    return None if port in _PORTS else port


def _parse_json(data: bytes) -> object:
    # Pairs instead of dictionaries, or the first of two equal keys would go unseen; numbers as they stand.
    try:
        return json.loads(
            data, object_pairs_hook=tuple, parse_int=str, parse_float=str, parse_constant=_refuse_constant
        )
    except RecursionError as error:
        raise ValueError("too deeply nested") from error


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _list_strings(value: object) -> Iterator[str]:
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, (list, tuple)):
            left += cast("Sequence[object]", item)


def _decode(data: bytes) -> Iterator[str]:
    """Give the text, if it is one."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return
    if "\0" not in text:
        yield text
