"""Whether an SBOM (SPDX 2.2 or 2.3, as JSON) is one, and is about the very artifact that it stands beside."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast
from urllib.parse import parse_qsl, unquote

from publisher.core.digests import Digest, display, parse_hex
from publisher.core.identity import Rejected

_VERSIONS = ("SPDX-2.2", "SPDX-2.3")
_DOCUMENT = "SPDXRef-DOCUMENT"
_ALGORITHM = "SHA256"
_SHOWN = 80
"""How many characters of a foreign value a message shows."""

_Object = Mapping[str, object]


def check_sbom(data: bytes, artifact: str, digest: Digest) -> Rejected | None:
    """Check that `data` is an SPDX document that does not contradict the artifact; never raises.

    `artifact` is the artifact's file name. Packages and files of that name are the artifact; where none of
    them carries a SHA-256, what the document says it describes is, whatever its name. Each SHA-256 that
    these carry has to be `digest`. A document without any is taken as it is; what else it says is not judged.
    """
    try:
        for claim in _find_claims(_open(data), artifact):
            if claim.digest != digest:
                return Rejected(
                    f"{display(claim.digest)} for {claim.subject}",
                    f"{display(digest)}, the digest of {artifact}",
                    "it was made from another file or another build: make it again from this one",
                )
    except _UnreadableError as error:
        return Rejected(error.found, error.expected, "make it again, as JSON of SPDX 2.3")
    return None


class _UnreadableError(Exception):
    """The document is not as SPDX has it."""

    def __init__(self, found: str, expected: str) -> None:
        super().__init__(found)
        self.found = found
        self.expected = expected


@dataclass(frozen=True, slots=True)
class _Claim:
    """A digest that the document gives to `subject`, words that name the entry."""

    subject: str
    digest: Digest


def _open(data: bytes) -> _Object:
    expected = "an SPDX document as JSON"
    try:
        document: object = json.loads(
            data.decode("utf-8"), object_pairs_hook=_make_object, parse_constant=_refuse_constant
        )
    except RecursionError as error:
        raise _UnreadableError("JSON that is nested too deeply", expected) from error
    except ValueError as error:
        raise _UnreadableError(f"no valid JSON: {_shorten(str(error))}", expected) from error
    opened = _as_object(document, "the document")
    version = opened.get("spdxVersion")
    if version not in _VERSIONS:
        raise _UnreadableError(f"spdxVersion {_show(version)}", " or ".join(_VERSIONS))
    if opened.get("SPDXID") != _DOCUMENT:
        raise _UnreadableError(f"SPDXID {_show(opened.get('SPDXID'))} of the document", _DOCUMENT)
    _read_text(opened, "name", "the document")
    return opened


def _make_object(pairs: list[tuple[str, object]]) -> _Object:
    made = dict(pairs)
    if len(made) < len(pairs):
        # Readers differ in which of the two they take, so that one could be checked and another used.
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))
        raise ValueError(f"the name {_show(twice)} stands twice in one object")
    return made


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


def _find_claims(document: _Object, artifact: str) -> Sequence[_Claim]:
    described = _find_described(document)
    by_name: list[_Claim] = []
    by_description: list[_Claim] = []
    for where, package in _read_objects(document, "packages", "the document", required=True):
        identifier = _read_text(package, "SPDXID", where)
        if artifact in _name_package(package, where):
            by_name += _read_package(package, where)
        elif identifier in described:
            by_description += _read_package(package, where)
    for where, entry in _read_objects(document, "files", "the document"):
        identifier = _read_text(entry, "SPDXID", where)
        # A path inside of an archive is another file, whatever its last part.
        name = _read_text(entry, "fileName", where).removeprefix("./")
        if name == artifact:
            by_name += _read_checksums(entry, where, name)
        elif identifier in described:
            by_description += _read_checksums(entry, where, name)
    return by_name or by_description


def _find_described(document: _Object) -> set[str]:
    """Find the identifiers of what the document itself says it is about."""
    described: set[str] = set()
    for name in _read_list(document, "documentDescribes", "the document"):
        described.add(_as_text(name, "an entry of documentDescribes"))
    for where, relation in _read_objects(document, "relationships", "the document"):
        kind = _read_text(relation, "relationshipType", where)
        left = _read_text(relation, "spdxElementId", where)
        right = _read_text(relation, "relatedSpdxElement", where)
        if kind == "DESCRIBES" and left == _DOCUMENT:
            described.add(right)
        elif kind == "DESCRIBED_BY" and right == _DOCUMENT:
            described.add(left)
    return described


def _name_package(package: _Object, where: str) -> set[str]:
    """Give every file name that a package goes by."""
    location, _, _ = _read_text(package, "downloadLocation", where, "").partition("#")
    location, _, _ = location.partition("?")
    return {
        _read_text(package, "name", where),
        _read_text(package, "packageFileName", where, "").rpartition("/")[2],
        unquote(location.rpartition("/")[2]),
    }


def _read_package(package: _Object, where: str) -> Iterator[_Claim]:
    name = _read_text(package, "packageFileName", where, "") or _read_text(package, "name", where)
    yield from _read_checksums(package, where, name)
    for place, reference in _read_objects(package, "externalRefs", where):
        kind = _read_text(reference, "referenceType", place)
        locator = _read_text(reference, "referenceLocator", place)
        if kind == "purl":
            yield from _read_purl(locator, place, name)


def _read_checksums(entry: _Object, where: str, name: str) -> Iterator[_Claim]:
    for place, checksum in _read_objects(entry, "checksums", where):
        algorithm = _read_text(checksum, "algorithm", place)
        value = _read_text(checksum, "checksumValue", place)
        if algorithm.upper() == _ALGORITHM:
            yield _claim(value, place, name)


def _read_purl(locator: str, where: str, name: str) -> Iterator[_Claim]:
    """Read the digests of a package URL: `…?checksum=sha1:ab…,sha256:cd…#…`."""
    qualifiers = locator.partition("#")[0].partition("?")[2]
    for key, listed in parse_qsl(qualifiers):
        for item in listed.split(",") if key.lower() == "checksum" else ():
            algorithm, _, value = item.partition(":")
            if algorithm.strip().upper() == _ALGORITHM:
                yield _claim(value.strip(), where, name)


def _claim(value: str, where: str, name: str) -> _Claim:
    try:
        return _Claim(f"{_show(name)} in {where}", parse_hex(value))
    except ValueError as error:
        raise _UnreadableError(f"{_show(value)} in {where}", "64 hex digits of a SHA-256") from error


def _read_objects(
    entry: _Object, name: str, where: str, *, required: bool = False
) -> Iterator[tuple[str, _Object]]:
    """Read a list of objects, each with words for where it stands."""
    inside = "" if where == "the document" else f"{where}."
    for number, item in enumerate(_read_list(entry, name, where, required=required)):
        place = f"{inside}{name}[{number}]"
        yield place, _as_object(item, place)


def _read_list(entry: _Object, name: str, where: str, *, required: bool = False) -> list[object]:
    value = entry.get(name, None if required else [])
    if not isinstance(value, list):
        raise _UnreadableError(f"{name} of {where}: {_show(value)}", "a list")
    return cast("list[object]", value)


def _read_text(entry: _Object, name: str, where: str, default: str | None = None) -> str:
    """Read a text, which has to be there and not empty unless there is a `default`."""
    if default is not None and name not in entry:
        return default
    return _as_text(entry.get(name), f"{name} of {where}", empty=default is not None)


def _as_text(value: object, where: str, *, empty: bool = False) -> str:
    if isinstance(value, str) and (value or empty):
        return value
    raise _UnreadableError(f"{where}: {_show(value)}", "a text")


def _as_object(value: object, where: str) -> _Object:
    if isinstance(value, dict):
        return cast("_Object", value)
    raise _UnreadableError(f"{where}: {_show(value)}", "an object")


def _show(value: object) -> str:
    """Show a foreign value: escaped, since it may hold anything, and by its kind alone if it may be large."""
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return _shorten(ascii(value[: 2 * _SHOWN]))
    if isinstance(value, dict):
        return "an object"
    return "a list" if isinstance(value, list) else "a number or truth value"


def _shorten(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
