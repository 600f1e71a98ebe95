"""SBOMs: which documents are good, and which are about another artifact or no documents at all."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from publisher.core.digests import Digest, display, of_bytes
from publisher.core.identity import Rejected
from publisher.core.sbom import check_sbom

Json = dict[str, Any]
TGZ = "Python-3.14.0b3.tgz"
DIGEST = of_bytes(b"tarball")
OTHER = of_bytes(b"tarball, built again")
FTP = "https://www.python.org/ftp/python/3.14.0/"


EMPTY: Json = {}


def sha256(value: str = DIGEST) -> list[Json]:
    return [
        {"algorithm": "SHA1", "checksumValue": "00" * 20},
        {"algorithm": "SHA256", "checksumValue": value},
    ]


def a_package(name: str = "expat", **fields: object) -> Json:
    return {"SPDXID": f"SPDXRef-PACKAGE-{name}", "name": name, **fields}


def cpython(**fields: object) -> Json:
    """The package of the artifact itself, as CPython's release tools write it."""
    return {
        **a_package("cpython"),
        "name": "CPython",
        "packageFileName": TGZ,
        "downloadLocation": f"{FTP}{TGZ}",
        "externalRefs": [
            {
                "referenceCategory": "SECURITY",
                "referenceLocator": "cpe:2.3:a:python:python:3.14.0b3:*:*:*:*:*:*:*",
                "referenceType": "cpe23Type",
            }
        ],
        "primaryPackagePurpose": "SOURCE",
        "checksums": [{"algorithm": "SHA256", "checksumValue": DIGEST}],
        **fields,
    }


def a_document(*packages: object, **fields: object) -> Json:
    return {
        "spdxVersion": "SPDX-2.3",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": "CPython SBOM",
        "packages": list(packages),
        **fields,
    }


def a_cpython_document(package: Json | None = None) -> Json:
    """A whole document of CPython: files of the tree, vendored packages, the artifact, how they relate."""
    expat = a_package(
        versionInfo="2.7.1",
        downloadLocation="https://github.com/libexpat/libexpat/releases/download/R_2_7_1/expat-2.7.1.tar.gz",
        checksums=sha256(of_bytes(b"expat")),
        externalRefs=[a_purl(f"pkg:generic/expat@2.7.1?checksum=sha256:{of_bytes(b'expat')}")],
    )
    file = {
        "SPDXID": "SPDXRef-FILE-Modules-expat-expat.h",
        "fileName": "Modules/expat/expat.h",
        "checksums": sha256(of_bytes(b"header")),
    }
    return a_document(
        expat,
        package or cpython(),
        dataLicense="CC0-1.0",
        documentNamespace=f"{FTP}{TGZ}.spdx.json",
        files=[file],
        relationships=[
            relate("SPDXRef-PACKAGE-expat", "CONTAINS", str(file["SPDXID"])),
            relate("SPDXRef-PACKAGE-cpython", "DEPENDS_ON", "SPDXRef-PACKAGE-expat"),
            relate("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-PACKAGE-cpython"),
        ],
    )


def a_purl(locator: str) -> Json:
    return {
        "referenceCategory": "PACKAGE_MANAGER",
        "referenceLocator": locator,
        "referenceType": "purl",
    }


def relate(left: str, kind: str, right: str) -> Json:
    return {"spdxElementId": left, "relationshipType": kind, "relatedSpdxElement": right}


def check(document: object, artifact: str = TGZ, digest: Digest = DIGEST) -> Rejected | None:
    return check_sbom(json.dumps(document).encode(), artifact, digest)


def refuse(document: object, artifact: str = TGZ, digest: Digest = DIGEST) -> str:
    """Say what was found wrong."""
    rejected = check(document, artifact, digest)
    assert rejected is not None
    return rejected.found


def test_the_document_of_a_cpython_tarball_is_good() -> None:
    assert check(a_cpython_document()) is None


def test_another_digest_of_the_artifact_is_refused() -> None:
    package = cpython(checksums=[{"algorithm": "SHA256", "checksumValue": OTHER}])

    assert check(a_cpython_document(package)) == Rejected(
        f"{display(OTHER)} for '{TGZ}' in packages[1].checksums[0]",
        f"{display(DIGEST)}, the digest of {TGZ}",
        "it was made from another file or another build: make it again from this one",
    )


def test_the_document_of_one_tarball_beside_the_other_is_refused() -> None:
    assert TGZ in refuse(a_cpython_document(), "Python-3.14.0b3.tar.xz", OTHER)


@pytest.mark.parametrize(
    "names",
    [
        {"packageFileName": TGZ},
        {"packageFileName": f"./{TGZ}"},
        {"packageFileName": f"dist/{TGZ}"},
        {"name": TGZ},
        {"downloadLocation": f"{FTP}{TGZ}"},
        {"downloadLocation": f"{FTP}{TGZ}?mirror=1/2#part/3"},
        {"downloadLocation": f"{FTP}{TGZ}#part/3"},
        {"downloadLocation": f"{FTP}Python%2D3.14.0b3.tgz"},
    ],
)
def test_a_package_is_the_artifact_by_any_of_its_names(names: Mapping[str, str]) -> None:
    def made_of(digest: str) -> Json:
        return a_document({**a_package("tool"), "checksums": sha256(digest), **names})

    assert check(made_of(DIGEST)) is None
    assert check(made_of(DIGEST.upper())) is None
    assert display(OTHER) in refuse(made_of(OTHER))


@pytest.mark.parametrize(
    "names",
    [
        {"name": f"{TGZ}.asc"},
        {"packageFileName": "Python-3.14.0b3.tar.xz"},
        {"packageFileName": TGZ.lower()},
        {"downloadLocation": f"{FTP}{TGZ}/other"},
        {"downloadLocation": "NOASSERTION"},
        {"downloadLocation": ""},
    ],
)
def test_a_package_of_another_name_may_have_any_digest(names: Mapping[str, str]) -> None:
    assert check(a_document({**a_package("tool"), "checksums": sha256(OTHER), **names})) is None


@pytest.mark.parametrize(("name", "is_artifact"), [(TGZ, True), (f"./{TGZ}", True), (f"inner/{TGZ}", False)])
def test_a_file_is_the_artifact_by_its_whole_path(name: str, is_artifact: bool) -> None:
    def made_of(digest: str) -> Json:
        return a_document(files=[{"SPDXID": "SPDXRef-FILE-1", "fileName": name, "checksums": sha256(digest)}])

    assert check(made_of(DIGEST)) is None
    assert (check(made_of(OTHER)) is None) is not is_artifact


DESCRIPTIONS: Sequence[Json] = [
    {"documentDescribes": ["SPDXRef-1"]},
    {"relationships": [relate("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-1")]},
    {"relationships": [relate("SPDXRef-1", "DESCRIBED_BY", "SPDXRef-DOCUMENT")]},
]


@pytest.mark.parametrize("description", DESCRIPTIONS)
@pytest.mark.parametrize("kind", ["packages", "files"])
def test_what_the_document_describes_is_the_artifact_whatever_its_name(description: Json, kind: str) -> None:
    def made_of(digest: str) -> Json:
        entry = {"SPDXID": "SPDXRef-1", "name": "tool", "fileName": "tool", "checksums": sha256(digest)}
        return {**a_document(**description), kind: [entry]}

    def without_description(digest: str) -> Json:
        return {**made_of(digest), "documentDescribes": [], "relationships": []}

    if kind == "files":
        assert check({**made_of(DIGEST), "packages": []}) is None
    assert check(made_of(DIGEST)) is None
    assert display(OTHER) in refuse(made_of(OTHER))
    assert check(without_description(OTHER)) is None


@pytest.mark.parametrize(
    "relation",
    [
        relate("SPDXRef-1", "DESCRIBES", "SPDXRef-2"),
        relate("SPDXRef-2", "DESCRIBED_BY", "SPDXRef-1"),
        relate("SPDXRef-DOCUMENT", "CONTAINS", "SPDXRef-2"),
    ],
)
def test_other_relations_describe_nothing(relation: Json) -> None:
    package = {"SPDXID": "SPDXRef-2", "name": "tool", "checksums": sha256(OTHER)}

    assert check(a_document(package, relationships=[relation])) is None


def test_one_document_may_describe_every_artifact_of_a_release() -> None:
    exe = "python-3.14.0b3.exe"
    packages = (
        a_package("one", packageFileName=TGZ, checksums=sha256()),
        a_package("two", packageFileName=exe, checksums=sha256(OTHER)),
    )
    document = a_document(*packages, documentDescribes=[package["SPDXID"] for package in packages])

    assert check(document) is None
    assert check(document, exe, OTHER) is None
    assert display(OTHER) in refuse(document, exe)
    assert display(DIGEST) in refuse(document, TGZ, OTHER)
    assert "python-3.14.0b3.exe" in refuse(document, "python-3.14.0b3-arm64.exe")


PAIRS = (("good", DIGEST), ("bad", OTHER))


def test_entries_that_disagree_are_refused_in_either_order() -> None:
    good, bad = (a_package(name, packageFileName=TGZ, checksums=sha256(value)) for name, value in PAIRS)

    assert check(a_document(good, good)) is None
    assert display(OTHER) in refuse(a_document(good, bad))
    assert display(OTHER) in refuse(a_document(bad, good))


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"checksums": []},
        {"checksums": [{"algorithm": "SHA1", "checksumValue": "00" * 20}]},
        {"externalRefs": [a_purl("pkg:generic/cpython@3.14.0b3")]},
        {"externalRefs": [a_purl("pkg:generic/cpython@3.14.0b3?checksum=sha1:0123,md5:45")]},
        {
            "externalRefs": [
                {**a_purl(f"https://example.org/?checksum=sha256:{OTHER}"), "referenceType": "advisory"}
            ]
        },
        {"externalRefs": [a_purl(f"pkg:generic/cpython@3.14.0b3#checksum=sha256:{OTHER}")]},
        {"externalRefs": [a_purl(f"pkg:generic/cpython@3.14.0b3?download_url=sha256:{OTHER}")]},
    ],
)
def test_a_document_without_the_artifacts_digest_is_good(fields: Json) -> None:
    assert check(a_document(a_package(packageFileName=TGZ, **fields))) is None


@pytest.mark.parametrize(
    "qualifiers",
    [
        "checksum=sha256:{}",
        "checksum=sha1:0123,sha256:{}",
        "download_url=https%3A%2F%2Fexample.org%2Fx&checksum=sha256%3A{}",
        "CHECKSUM=SHA256:{}#subpath",
    ],
)
def test_a_digest_in_a_package_url_counts_like_any_other(qualifiers: str) -> None:
    def made_of(digest: str) -> Json:
        url = a_purl(f"pkg:generic/cpython@3.14.0b3?{qualifiers.format(digest)}")
        return a_cpython_document(cpython(externalRefs=[url]))

    assert check(made_of(DIGEST)) is None
    assert display(OTHER) in refuse(made_of(OTHER))


def test_the_older_version_is_read_too() -> None:
    assert check({**a_cpython_document(), "spdxVersion": "SPDX-2.2"}) is None


def cut(document: Json, *path: str | int) -> Json:
    """Take one value out of a document."""
    holder: Any = document
    for step in path[:-1]:
        holder = holder[step]
    del holder[path[-1]]
    return document


@pytest.mark.parametrize(
    ("document", "found"),
    [
        ([], "the document: a list"),
        ("SPDX-2.3", "the document: 'SPDX-2.3'"),
        (None, "the document: nothing"),
        (a_document(spdxVersion="SPDX-3.0"), "spdxVersion 'SPDX-3.0'"),
        (a_document(spdxVersion=["SPDX-2.3"]), "spdxVersion a list"),
        (cut(a_document(), "spdxVersion"), "spdxVersion nothing"),
        (a_document(SPDXID="SPDXRef-OTHER"), "SPDXID 'SPDXRef-OTHER' of the document"),
        (cut(a_document(), "SPDXID"), "SPDXID nothing of the document"),
        (a_document(name=3), "name of the document: a number or truth value"),
        (a_document(name=""), "name of the document: ''"),
        (cut(a_document(), "name"), "name of the document: nothing"),
        (cut(a_document(), "packages"), "packages of the document: nothing"),
        ({**a_document(), "packages": {"a": 1}}, "packages of the document: an object"),
        (a_document("expat"), "packages[0]: 'expat'"),
        (a_document(cut(a_package(), "SPDXID")), "SPDXID of packages[0]: nothing"),
        (a_document(a_package(), cut(a_package(), "name")), "name of packages[1]: nothing"),
        (a_document(a_package(packageFileName=None)), "packageFileName of packages[0]: nothing"),
        (
            a_document(a_package(downloadLocation=True)),
            "downloadLocation of packages[0]: a number or truth value",
        ),
        (a_document(cpython(checksums="SHA256")), "checksums of packages[0]: 'SHA256'"),
        (a_document(cpython(checksums=[DIGEST])), f"packages[0].checksums[0]: '{DIGEST}'"),
        (
            a_document(cpython(checksums=[{"checksumValue": DIGEST}])),
            "algorithm of packages[0].checksums[0]: nothing",
        ),
        (
            a_document(cpython(checksums=[{"algorithm": "SHA256"}])),
            "checksumValue of packages[0].checksums[0]: nothing",
        ),
        (a_document(cpython(checksums=sha256("ab12"))), "'ab12' in packages[0].checksums[1]"),
        (a_document(cpython(externalRefs=[7])), "packages[0].externalRefs[0]: a number or truth value"),
        (a_document(cpython(externalRefs=[EMPTY])), "referenceType of packages[0].externalRefs[0]: nothing"),
        (
            a_document(cpython(externalRefs=[{"referenceType": "purl"}])),
            "referenceLocator of packages[0].externalRefs[0]: nothing",
        ),
        (
            a_document(cpython(externalRefs=[a_purl("pkg:generic/a?checksum=sha256:ab")])),
            "'ab' in packages[0].externalRefs[0]",
        ),
        (a_document(files=None), "files of the document: nothing"),
        (a_document(files=[{"fileName": "a"}]), "SPDXID of files[0]: nothing"),
        (a_document(files=[{"SPDXID": "a"}]), "fileName of files[0]: nothing"),
        (a_document(documentDescribes=[1]), "an entry of documentDescribes: a number or truth value"),
        (a_document(relationships=[EMPTY]), "relationshipType of relationships[0]: nothing"),
        (a_document(spdxVersion="\ud800\n\x1b" * 80), "spdxVersion '" + r"\ud800\n\x1b" * 6 + r"\ud800\…"),
    ],
)
def test_what_is_no_such_document_is_refused_with_its_place(document: object, found: str) -> None:
    rejected = check(document)

    assert rejected is not None
    assert rejected.found == found
    assert rejected.expected
    assert rejected.hint == "make it again, as JSON of SPDX 2.3"


GOOD = json.dumps(a_cpython_document())


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", "Expecting value"),
        (b"<html>", "Expecting value"),
        (GOOD.encode()[:-2], "delimiter"),
        (GOOD.encode("utf-16"), "utf-8"),
        (GOOD.encode("utf-8-sig"), "BOM"),
        (GOOD.encode() + b"{}", "Extra data"),
        (b"\xff" + GOOD.encode(), "utf-8"),
        (GOOD.replace("{", '{"score": NaN, ', 1).encode(), "NaN is no JSON"),
        (GOOD.replace("{", '{"score": -Infinity, ', 1).encode(), "-Infinity is no JSON"),
        (GOOD.replace("{", '{"score": ' + "9" * 5000 + ", ", 1).encode(), "limit"),
        (GOOD.replace("{", '{"name": "a", ', 1).encode(), "the name 'name' stands twice in one object"),
        (
            GOOD.replace('"algorithm"', '"algorithm": "MD5", "algorithm"', 1).encode(),
            "'algorithm' stands twice",
        ),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"a":' * 200_000, "nested too deeply"),
    ],
)
def test_what_is_no_json_is_refused(data: bytes, found: str) -> None:
    rejected = check_sbom(data, TGZ, DIGEST)

    assert check_sbom(GOOD.encode(), TGZ, DIGEST) is None
    assert rejected is not None
    assert found in rejected.found
    assert len(rejected.found) < 120


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from([TGZ, DIGEST, OTHER]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
FIELDS = (
    "SPDXID",
    "algorithm",
    "checksumValue",
    "checksums",
    "documentDescribes",
    "downloadLocation",
    "externalRefs",
    "fileName",
    "files",
    "name",
    "packageFileName",
    "packages",
    "referenceLocator",
    "referenceType",
    "relatedSpdxElement",
    "relationshipType",
    "relationships",
    "spdxElementId",
    "spdxVersion",
)


@given(VALUES)
def test_no_json_makes_it_raise(value: object) -> None:
    rejected = check_sbom(json.dumps(value).encode(), TGZ, DIGEST)

    assert rejected is not None
    assert rejected.found.isprintable()


@given(st.binary())
@example(b"\x00")
def test_no_bytes_make_it_raise(data: bytes) -> None:
    assert check_sbom(data, TGZ, DIGEST) is not None


def _swap(node: Any, name: str, value: object, at: Callable[[], bool]) -> Any:
    """Put `value` in the place of some fields called `name`."""
    if isinstance(node, list):
        return [_swap(item, name, value, at) for item in node]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(node, dict):
        return {
            key: value if key == name and at() else _swap(item, name, value, at)
            for key, item in node.items()  # pyright: ignore[reportUnknownVariableType]
        }
    return node


@given(st.data(), st.sampled_from(FIELDS), VALUES)
def test_a_document_with_a_value_swapped_is_judged_and_never_raises(
    data: st.DataObject, name: str, value: object
) -> None:
    package = cpython(externalRefs=[a_purl(f"pkg:generic/cpython@3?checksum=sha256:{DIGEST}")])
    document = _swap(a_cpython_document(package), name, value, lambda: data.draw(st.booleans()))

    rejected = check(document)

    if rejected is not None:
        assert rejected.expected
        assert rejected.found.isprintable()
