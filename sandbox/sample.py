"""The sample release: the real names of CPython 3.14.0b3, with bytes made up and sizes scaled down."""

import hashlib
import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

RELEASE = "3.14.0b3"
INVENTORY = Path(__file__).parent / "sample" / "cpython-3.14.0b3.tsv"
SCALE = 64
"""Sizes are divided by this, so that the whole release has about 17 MB instead of a gigabyte."""

INDEX = "python/index-windows.json"
CATALOG = f"{INDEX}.cat"
"""The index of the Python install manager and its catalog, which change with each release."""

_SBOM = ".spdx.json"


@dataclass(frozen=True, slots=True)
class SampleFile:
    """One line of the inventory; `size` in bytes, as published."""

    key: str
    role: str
    size: int


def read_inventory() -> tuple[SampleFile, ...]:
    """Read what the four builders deliver; the release manager's signature files are left out."""
    return tuple(file for file in _parse(INVENTORY.read_text("utf-8").splitlines()) if file.role != "rm")


def count_signatures() -> int:
    """Count the signature files that the release manager makes."""
    return sum(file.role == "rm" for file in _parse(INVENTORY.read_text("utf-8").splitlines()))


def write_files(folder: Path, files: Iterable[SampleFile], commit: str) -> None:
    """Write `files` under `folder` at their public keys, with bytes that depend on `commit`.

    An SBOM is valid SPDX and names the digest that its artifact really has.
    """
    files = sorted(files, key=lambda file: file.key.endswith(_SBOM))
    for file in files:
        path = folder / file.key
        path.parent.mkdir(parents=True, exist_ok=True)
        artifact = path.with_name(path.name.removesuffix(_SBOM))
        path.write_bytes(_make_sbom(artifact) if file.key.endswith(_SBOM) else _make_bytes(file, commit))


def write_sbom(artifact: Path) -> None:
    """Write the SBOM of an artifact beside it."""
    artifact.with_name(artifact.name + _SBOM).write_bytes(_make_sbom(artifact))


def write_index(folder: Path, files: Iterable[SampleFile]) -> None:
    """Write an index of the archives among `files`, its catalog, and that neither was there before."""
    site = "https://www.python.org/ftp/"
    versions = [
        {"id": f"pythoncore-{file.key.rpartition('-')[2]}", "sort-version": RELEASE, "url": site + file.key}
        for file in files
        if file.key.endswith(".zip")
    ]
    index = json.dumps({"versions": versions}, indent=1).encode()
    (folder / INDEX).write_bytes(index)
    (folder / CATALOG).write_bytes(b"catalog of " + hashlib.sha256(index).hexdigest().encode())
    claim = {"base": {CATALOG: "absent", INDEX: "absent"}}
    pointers = {"schema": 1, "sets": {"windows-index": claim}}
    (folder / "POINTERS.json").write_text(json.dumps(pointers, indent=1) + "\n", "utf-8")


def _parse(lines: Iterable[str]) -> Iterator[SampleFile]:
    for line in lines:
        if line and not line.startswith("#"):
            key, role, _, size, _ = line.split("\t")
            yield SampleFile(key, role, int(size))


def _make_bytes(file: SampleFile, commit: str) -> bytes:
    return random.Random(f"{commit}:{file.key}").randbytes(max(1, file.size // SCALE))  # noqa: S311


def _make_sbom(artifact: Path) -> bytes:
    digest = hashlib.sha256(artifact.read_bytes()).hexdigest()
    document = {
        "SPDXID": "SPDXRef-DOCUMENT",
        "spdxVersion": "SPDX-2.3",
        "name": artifact.name,
        "dataLicense": "CC0-1.0",
        "documentNamespace": f"https://sample.invalid/{artifact.name}-{digest}",
        "creationInfo": {"created": "2025-06-17T00:00:00Z", "creators": ["Tool: sample"]},
        "packages": [
            {
                "SPDXID": "SPDXRef-PACKAGE-cpython",
                "name": "CPython",
                "versionInfo": RELEASE,
                "packageFileName": artifact.name,
                "downloadLocation": "NOASSERTION",
                "checksums": [{"algorithm": "SHA256", "checksumValue": digest}],
            }
        ],
        "relationships": [
            {
                "spdxElementId": "SPDXRef-DOCUMENT",
                "relationshipType": "DESCRIBES",
                "relatedSpdxElement": "SPDXRef-PACKAGE-cpython",
            }
        ],
    }
    return json.dumps(document, indent=2).encode() + b"\n"
