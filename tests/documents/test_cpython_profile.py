"""CPython's profile against what CPython publishes: a real listing, the sample release, the site's rows."""

import ast
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from publisher.core import keys
from publisher.core.contents import list_contents
from publisher.core.digests import of_bytes
from publisher.core.identity import Identity
from publisher.core.listing import (
    FileRow,
    FoundRelease,
    ListedFile,
    ReleaseRow,
    compute_release,
    compute_rows,
)
from publisher.core.listing_checks import validate_release, validate_rows
from publisher.core.profile import RM, Delivery, Expected, Need, Profile, Release, Row, Signal
from publisher.core.signatures import refuse_nobody
from publisher.core.signing import SIGSTORE, Format
from publisher.documents.profile import load_profile

ROOT = Path(__file__).parents[2]
TODAY = date(2026, 11, 30)
WHEN = datetime(2026, 11, 30, 12, tzinfo=UTC)
PRE_RELEASES = ("a1", "a2", "a3", "a4", "a5", "a6", "a7", "b1", "b2", "b3")
LISTING = tuple((ROOT / "tests/data/cpython-3.14.0-ftp-names.txt").read_text().splitlines())
SAMPLE = tuple(
    tuple(line.split("\t"))
    for line in (ROOT / "sandbox/sample/cpython-3.14.0b3.tsv").read_text().splitlines()
    if not line.startswith("#")
)
SIGNATURES = (".sigstore", ".sig", ".crt")
GITHUB = "https://github.com/login/oauth"
GOOGLE = "https://accounts.google.com"
ARCHS = ("win32", "amd64", "arm64")
# Releases of every kind that a series can have, for every series.
NAMES = tuple(f"3.{minor}.{rest}" for minor in range(10, 17) for rest in ("0a1", "0b2", "0rc3", "4", "5rc1"))


@pytest.fixture(scope="module", name="profile")
def load_cpython() -> Profile:
    return load_profile(ROOT / "profiles/cpython.toml")


def parse(profile: Profile, name: str) -> Release:
    release = profile.parse_release(name)
    assert release is not None
    return release


def expect(profile: Profile, name: str) -> Mapping[str, Expected]:
    return profile.expect(parse(profile, name))


def needs(profile: Profile, name: str, pattern: str) -> list[Need]:
    """List the needs of the expected keys that match `pattern` to their end."""
    return [item.need for key, item in expect(profile, name).items() if re.search(f"{pattern}$", key)]


def role_of(name: str) -> str:
    """Say who delivers a file of the listing, by its name alone."""
    if name.endswith(SIGNATURES):
        return RM
    artifact = name.removesuffix(".spdx.json")
    if artifact.endswith((".tgz", ".tar.xz", ".tar.gz")):
        return "source"
    if artifact.endswith(".pkg"):
        return "macos"
    return "windows" if artifact.endswith(".exe") or "-embed-" in artifact else "pymanager"


# --- The listing of the download server ---


def test_every_file_of_the_listing_belongs_to_one_release_and_one_role(profile: Profile) -> None:
    releases = [expect(profile, f"3.14.0{pre}") for pre in PRE_RELEASES]
    files = [name for name in LISTING if not name.endswith("/")]

    assert len(files) == 560
    for name in files:
        key = f"python/3.14.0/{name}"
        found = [expected[key] for expected in releases if key in expected]
        assert [item.role for item in found] == [role_of(name)], name
        assert found[0].need is not Need.FORBIDDEN, name


def test_every_folder_of_the_listing_belongs_to_one_release(profile: Profile) -> None:
    folders = [name for name in LISTING if name.endswith("/")]

    assert len(folders) == 30
    for name in folders:
        owners = [
            pre
            for pre in PRE_RELEASES
            if any(key.startswith(f"python/3.14.0/{name}") for key in expect(profile, f"3.14.0{pre}"))
        ]
        assert [f"{name[:5]}{owner}/" for owner in owners] == [name]


ANDROID = {"python-{}-aarch64-linux-android.tar.gz", "python-{}-x86_64-linux-android.tar.gz"}
PYMANAGER = {"windows-{}.json"} | {
    f"python-{{}}{flavour}-{arch}.zip" for flavour in ("", "t", "-embeddable", "-test") for arch in ARCHS
}


@pytest.mark.parametrize("pre", PRE_RELEASES)
def test_required_files_that_the_listing_lacks_were_really_not_published(profile: Profile, pre: str) -> None:
    # Android came with b3; the job for the install manager did not run for a5.
    lacking = {"a5": ANDROID | PYMANAGER, "b3": set[str]()}.get(pre, ANDROID)
    expected = expect(profile, f"3.14.0{pre}")
    required = {key for key, item in expected.items() if item.need is Need.REQUIRED}
    # The listing shows the folders of the MSIs, not what is in them.
    required = {key for key in required if not key.endswith(".msi")}

    assert required - {f"python/3.14.0/{name}" for name in LISTING} == {
        f"python/3.14.0/{name.format(f'3.14.0{pre}')}" for name in lacking
    }


# --- The sample release ---


def test_every_file_of_the_sample_is_expected_from_its_role(profile: Profile) -> None:
    expected = expect(profile, "3.14.0b3")

    assert len(SAMPLE) == 138
    for key, role, what, *_ in SAMPLE:
        item = expected[key]
        assert item.role == (RM if role == "rm" else role), key
        assert (item.artifact is not None) == (what == "sidecar"), key
        assert item.artifact is None or key.removeprefix(item.artifact) in {*SIGNATURES, ".spdx.json"}, key


def test_the_sample_lacks_nothing_but_what_is_stated(profile: Profile) -> None:
    expected = {
        key: item
        for key, item in expect(profile, "3.14.0b3").items()
        if item.role != RM and item.need is not Need.FORBIDDEN
    }
    delivered = {key for key, role, *_ in SAMPLE if role != "rm"}
    lacking = [expected[key] for key in sorted(expected.keys() - delivered)]

    assert len(delivered) == 111
    assert delivered <= expected.keys()
    # A package that is not among the names of the sample, and SBOMs that were not uploaded at that time.
    assert [item.key for item in lacking if item.role == "windows"] == [
        f"python/3.14.0/{arch}b3/appendpath.msi" for arch in sorted(ARCHS)
    ]
    others = [item for item in lacking if item.role != "windows"]
    assert len(others) == 12
    assert all(item.role == "pymanager" and item.key.endswith(".zip.spdx.json") for item in others)
    assert {item.need for item in lacking} == {Need.OPTIONAL}


def test_the_sample_is_what_builders_deliver_and_27_signature_files(profile: Profile) -> None:
    expected = expect(profile, "3.14.0b3")
    signatures = {key for key, role, *_ in SAMPLE if role == "rm"}
    formats = [expected[key].format for key in signatures]

    assert len(SAMPLE) == 138 == 111 + len(signatures)
    assert signatures == {key for key, item in expected.items() if item.role == RM}
    assert {expected[key].need for key in signatures} == {Need.REQUIRED}
    assert {kind: formats.count(kind) for kind in SIGSTORE} == dict.fromkeys(SIGSTORE, 9)


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("3.12.13", 10),
        ("3.13.16", 10),
        ("3.14.0b3", 9),
        ("3.14.0rc1", 12),
        ("3.14.2", 12),
        ("3.15.0rc2", 13),
        ("3.15.0", 13),
        ("3.16.0a1", 10),
    ],
)
def test_as_many_artifacts_are_signed_as_today(profile: Profile, name: str, count: int) -> None:
    assert sum(item.sign for item in expect(profile, name).values()) == count


def test_an_artifact_to_be_signed_has_one_of_each_signature_file(profile: Profile) -> None:
    for name in NAMES:
        expected = expect(profile, name)
        signed = {key for key, item in expected.items() if item.sign}
        for suffix in SIGNATURES:
            assert {item.artifact for item in expected.values() if item.key.endswith(suffix)} == signed


def test_the_release_manager_signs_what_has_a_row_and_nothing_else(profile: Profile) -> None:
    # What release-tools learnt to sign during the betas of 3.14, and what was never part of 3.14.
    late = ("-linux-android.tar.gz", ".json", "-iOS-XCframework.tar.gz")
    never = "/Python-{}-iOS-XCframework.tar.gz"
    for name in NAMES:
        expected = expect(profile, name)
        rows = {key for key, item in expected.items() if item.row}
        if re.match(r"3\.14\.0[ab]", name):
            rows = {key for key in rows if not key.endswith(late)}
        rows = {key for key in rows if not key.endswith(never.format(name))}
        assert {key for key, item in expected.items() if item.sign} == rows


# --- The rows of the site ---

ROWS_OF_B3 = {
    "Python-3.14.0b3.tgz": ("Gzipped source tarball", "Gzipped-source-tarball", "source", "", False),
    "Python-3.14.0b3.tar.xz": (
        "XZ compressed source tarball",
        "XZ-compressed-source-tarball",
        "source",
        "",
        True,
    ),
    "windows-3.14.0b3.json": (
        "Windows release manifest",
        "Windows-release-manifest",
        "windows",
        "Install with 'py install 3.14'",
        False,
    ),
    "python-3.14.0b3-embed-amd64.zip": (
        "Windows embeddable package (64-bit)",
        "Windows-embeddable-package-64-bit",
        "windows",
        "",
        False,
    ),
    "python-3.14.0b3-embed-arm64.zip": (
        "Windows embeddable package (ARM64)",
        "Windows-embeddable-package-ARM64",
        "windows",
        "",
        False,
    ),
    "python-3.14.0b3-arm64.exe": (
        "Windows installer (ARM64)",
        "Windows-installer-ARM64",
        "windows",
        "Experimental",
        False,
    ),
    "python-3.14.0b3-amd64.exe": (
        "Windows installer (64-bit)",
        "Windows-installer-64-bit",
        "windows",
        "Recommended",
        True,
    ),
    "python-3.14.0b3-embed-win32.zip": (
        "Windows embeddable package (32-bit)",
        "Windows-embeddable-package-32-bit",
        "windows",
        "",
        False,
    ),
    "python-3.14.0b3.exe": ("Windows installer (32-bit)", "Windows-installer-32-bit", "windows", "", False),
    "python-3.14.0b3-macos11.pkg": (
        "macOS installer",
        "macOS-installer",
        "macos",
        "for macOS 10.15 and later",
        True,
    ),
    "python-3.14.0b3-aarch64-linux-android.tar.gz": (
        "Android embeddable package (aarch64)",
        "Android-embeddable-package-aarch64",
        "android",
        "",
        False,
    ),
    "python-3.14.0b3-x86_64-linux-android.tar.gz": (
        "Android embeddable package (x86_64)",
        "Android-embeddable-package-x86_64",
        "android",
        "",
        False,
    ),
    "Python-3.14.0b3-iOS-XCframework.tar.gz": ("iOS XCframework", "iOS-XCframework", "ios", "", False),
}


def test_the_sample_has_the_rows_that_the_site_gets_today(profile: Profile) -> None:
    rows = {key: item.row for key, item in expect(profile, "3.14.0b3").items() if item.row}

    assert len(rows) == 13
    assert rows == {
        f"python/3.14.0/{file}": Row(name, f"3140-b3-{slug}", os, description, button=button)
        for file, (name, slug, os, description, button) in ROWS_OF_B3.items()
    }


def test_the_slug_of_a_final_release_has_no_pre_release_part(profile: Profile) -> None:
    item = expect(profile, "3.14.10")["python/3.14.10/python-3.14.10-amd64.exe"]

    assert item.row is not None
    assert item.row.slug == "31410-Windows-installer-64-bit"


@pytest.mark.parametrize(
    ("name", "description"),
    [("3.13.16", "for macOS 10.13 and later"), ("3.14.2", "for macOS 10.15 and later")],
)
def test_the_macos_row_says_which_macos_is_needed(profile: Profile, name: str, description: str) -> None:
    rows = [item.row for key, item in expect(profile, name).items() if key.endswith(".pkg")]

    assert [row and row.description for row in rows] == [description]


@pytest.mark.parametrize("name", NAMES)
def test_a_release_has_one_button_for_each_system_and_no_slug_twice(profile: Profile, name: str) -> None:
    rows = [item.row for item in expect(profile, name).values() if item.row]
    # Without installers there is nothing on Windows to put a button on.
    systems = ["source", "macos"] if name.startswith("3.16.") else ["source", "windows", "macos"]

    assert sorted(row.os for row in rows if row.button) == sorted(systems)
    assert len({row.slug for row in rows}) == len(rows)


# --- The release database of the site ---


def list_release(profile: Profile, name: str, others: Iterable[FoundRelease] = ()) -> ReleaseRow:
    assert profile.listing is not None
    return compute_release(parse(profile, name), profile.listing, others, WHEN)


def list_rows(profile: Profile, name: str) -> tuple[FileRow, ...]:
    """Compute the rows of a release of which everything that it may have is public."""
    assert profile.listing is not None
    contents = list_contents(profile, parse(profile, name))
    files = [
        ListedFile(key, of_bytes(key.encode()), number, row)
        for number, (key, row) in enumerate(contents.rows.items(), start=1)
    ]
    public = {entry.key for entry in contents.entries}
    return compute_rows(files, public, contents.url, profile.listing)


WHATS_NEW = "https://docs.python.org/3.14/whatsnew/3.14.html"


@pytest.mark.parametrize(
    ("name", "title", "slug", "pre", "notes"),
    [
        ("3.14.0b3", "Python 3.14.0b3", "python-3140b3", True, WHATS_NEW),
        ("3.14.0a1", "Python 3.14.0a1", "python-3140a1", True, WHATS_NEW),
        ("3.14.0rc2", "Python 3.14.0rc2", "python-3140rc2", True, WHATS_NEW),
        (
            "3.14.10",
            "Python 3.14.10",
            "python-31410",
            False,
            "https://docs.python.org/release/3.14.10/whatsnew/changelog.html",
        ),
        (
            "3.12.13",
            "Python 3.12.13",
            "python-31213",
            False,
            "https://docs.python.org/release/3.12.13/whatsnew/changelog.html",
        ),
    ],
)
def test_a_release_has_the_name_and_the_slug_that_the_site_gives_it(
    profile: Profile, name: str, title: str, slug: str, pre: bool, notes: str
) -> None:
    row = list_release(profile, name)

    assert (row.name, row.slug, row.version, row.pre_release) == (title, slug, 3, pre)
    assert row.release_notes_url == notes
    assert (row.is_published, row.is_latest, row.release_date) == (True, not pre, WHEN)
    assert validate_release(row) == ()


def test_every_kind_of_release_is_either_never_the_latest_or_may_be(profile: Profile) -> None:
    assert profile.listing is not None
    assert profile.listing.pre_kinds == {"alpha", "beta", "rc"}
    assert profile.listing.notes.keys() == {kind.name for kind in profile.kinds}


def test_a_security_release_is_not_the_latest_beside_a_newer_series(profile: Profile) -> None:
    newer = FoundRelease(7, list_release(profile, "3.14.2"))

    assert list_release(profile, "3.12.13").is_latest
    assert not list_release(profile, "3.12.13", [newer]).is_latest
    assert list_release(profile, "3.15.0", [newer]).is_latest


def test_the_third_beta_of_3_14_gets_thirteen_rows_with_their_sidecars(profile: Profile) -> None:
    rows = {row.url.rpartition("/")[2]: row for row in list_rows(profile, "3.14.0b3")}

    assert profile.listing is not None
    assert validate_rows(rows.values(), profile.listing) == ()
    assert len(rows) == 13
    assert {
        file: (row.name, row.slug.removeprefix("3140-b3-"), row.os, row.description, row.button)
        for file, row in rows.items()
    } == ROWS_OF_B3
    assert {file for file, row in rows.items() if row.is_source} == {
        "Python-3.14.0b3.tgz",
        "Python-3.14.0b3.tar.xz",
    }
    assert rows["python-3.14.0b3.exe"].sidecars.keys() == {*SIGNATURES, ".spdx.json"}
    assert rows["windows-3.14.0b3.json"].sidecars == {}
    assert all(row.url.startswith("https://www.python.org/ftp/python/3.14.0/") for row in rows.values())


@pytest.mark.parametrize("name", NAMES)
def test_every_row_is_one_that_the_database_takes(profile: Profile, name: str) -> None:
    rows = list_rows(profile, name)

    assert profile.listing is not None
    assert validate_rows(rows, profile.listing) == ()
    assert {row.os for row in rows} <= profile.listing.systems.keys()


@pytest.mark.parametrize("name", ["3.14.0b3", "3.15.0rc1", "3.15.0", "3.12.13"])
def test_a_release_waits_for_its_tag_and_a_final_one_for_its_documentation_too(
    profile: Profile, name: str
) -> None:
    tag = Signal("git tag", f"https://github.com/python/cpython/releases/tag/v{name}")
    docs = Signal("documentation", f"https://docs.python.org/release/{name}/")
    final = "b" not in name and "rc" not in name

    assert profile.list_signals(parse(profile, name)) == ((tag, docs) if final else (tag,))


# --- Kinds and needs ---


@pytest.mark.parametrize(
    ("name", "kind", "series", "base", "pre"),
    [
        ("3.14.0a1", "alpha", "3.14", "3.14.0", "a1"),
        ("3.16.0a10", "alpha", "3.16", "3.16.0", "a10"),
        ("3.14.0b3", "beta", "3.14", "3.14.0", "b3"),
        ("3.15.0rc2", "rc", "3.15", "3.15.0", "rc2"),
        ("3.14.5rc1", "rc", "3.14", "3.14.5", "rc1"),
        ("3.14.2", "final", "3.14", "3.14.2", ""),
        ("3.15.0", "final", "3.15", "3.15.0", ""),
        ("3.13.16", "security", "3.13", "3.13.16", ""),
        ("3.12.13", "security", "3.12", "3.12.13", ""),
        ("3.11.15", "security", "3.11", "3.11.15", ""),
    ],
)
def test_a_version_is_of_the_kind_that_its_name_and_series_say(
    profile: Profile, name: str, kind: str, series: str, base: str, pre: str
) -> None:
    release = parse(profile, name)

    assert (release.kind, release.series) == (kind, series)
    assert (release.groups["base"], release.groups["pre"]) == (base, pre)


@pytest.mark.parametrize(
    "name",
    ["3.14", "3.14.0c1", "3.14.0-b3", "3.14.0b", "3.14.0b0", "3.14.0b03", "3.014.0", "v3.14.0", "3.14.0b3t"],
)
def test_a_name_that_cpython_never_gave_is_no_version(profile: Profile, name: str) -> None:
    assert profile.parse_release(name) is None


@pytest.mark.parametrize("name", ["3.12.13", "3.13.16"])
def test_a_security_release_needs_its_source_alone(profile: Profile, name: str) -> None:
    required = {key for key, item in expect(profile, name).items() if item.need is Need.REQUIRED}
    artifacts = {key for key in required if expect(profile, name)[key].artifact is None}

    assert artifacts == {
        f"python/{name}/Python-{name}.tgz",
        f"python/{name}/Python-{name}.tar.xz",
        *(
            f"python/doc/{name}/python-{name}-docs{suffix}"
            for suffix in (
                "-html.tar.bz2",
                "-html.zip",
                "-text.tar.bz2",
                "-text.zip",
                "-texinfo.tar.bz2",
                "-texinfo.zip",
                ".epub",
            )
        ),
    }


@pytest.mark.parametrize(("name", "need"), [("3.12.13", Need.OPTIONAL), ("3.14.2", Need.REQUIRED)])
def test_windows_and_macos_are_optional_for_security_releases_only(
    profile: Profile, name: str, need: Need
) -> None:
    for pattern in (
        r"-amd64\.exe",
        r"-embed-win32\.zip",
        r"/win32/core\.msi",
        r"\.pkg",
        r"/windows-.*\.json",
    ):
        assert needs(profile, name, pattern) == [need], pattern


@pytest.mark.parametrize(
    ("name", "need"),
    [
        ("3.14.0a1", Need.FORBIDDEN),
        ("3.14.0b3", Need.FORBIDDEN),
        ("3.15.0rc2", Need.REQUIRED),
        ("3.14.2", Need.REQUIRED),
        ("3.12.13", Need.REQUIRED),
    ],
)
def test_documentation_is_forbidden_before_the_first_candidate(
    profile: Profile, name: str, need: Need
) -> None:
    assert needs(profile, name, r"/python-.*-docs.*") == [need] * 7


def test_documentation_is_in_a_folder_of_the_full_version(profile: Profile) -> None:
    assert "python/doc/3.15.0rc2/python-3.15.0rc2-docs-html.zip" in expect(profile, "3.15.0rc2")


@pytest.mark.parametrize(
    ("name", "count"), [("3.12.13", 9), ("3.13.16", 12), ("3.14.2", 12), ("3.16.0a1", 12)]
)
def test_free_threaded_runtimes_begin_with_3_13(profile: Profile, name: str, count: int) -> None:
    items = expect(profile, name).values()

    assert len([item for item in items if item.role == "pymanager" and item.key.endswith(".zip")]) == count


@pytest.mark.parametrize(
    ("name", "count"), [("3.12.13", 24), ("3.13.16", 27), ("3.15.0", 27), ("3.16.0a1", 0)]
)
def test_an_architecture_has_24_msis_and_three_more_since_3_13(
    profile: Profile, name: str, count: int
) -> None:
    assert len(needs(profile, name, r"/amd64[^/]*/\w+\.msi")) == count


def test_msis_that_newer_installers_may_lack_are_not_asked_for(profile: Profile) -> None:
    required = [key for key, item in expect(profile, "3.14.2").items() if item.need is Need.REQUIRED]

    assert len([key for key in required if key.endswith(".msi")]) == 3 * 24
    for package in ("appendpath", "tools", "ucrt"):
        assert needs(profile, "3.14.2", rf"/{package}\.msi") == [Need.OPTIONAL] * 3


def test_pgp_signatures_end_with_3_13(profile: Profile) -> None:
    signatures = {
        key.rpartition("/")[2]: (item.role, item.need)
        for key, item in expect(profile, "3.13.16").items()
        if key.endswith(".asc") and not key.endswith(".msi.asc")
    }
    windows = {f"-embed-{arch}.zip" for arch in ARCHS} | {".exe", "-amd64.exe", "-arm64.exe"}

    assert signatures == {
        "Python-3.13.16.tgz.asc": (RM, Need.REQUIRED),
        "Python-3.13.16.tar.xz.asc": (RM, Need.REQUIRED),
        "python-3.13.16-macos11.pkg.asc": ("macos", Need.REQUIRED),
        **{f"python-3.13.16{suffix}.asc": ("windows", Need.REQUIRED) for suffix in windows},
    }
    assert set(needs(profile, "3.13.16", r"\.msi\.asc")) == {Need.OPTIONAL}
    for name in ("3.14.2", "3.15.0", "3.16.0a1"):
        assert needs(profile, name, r"\.asc") == []


@pytest.mark.parametrize(("name", "count"), [("3.11.15", 0), ("3.12.13", 8), ("3.14.2", 8), ("3.16.0a1", 5)])
def test_sboms_are_required_since_3_12(profile: Profile, name: str, count: int) -> None:
    assert needs(profile, name, r"\.spdx\.json").count(Need.REQUIRED) == count


def test_3_16_has_no_installers(profile: Profile) -> None:
    assert len(needs(profile, "3.15.0", r"\.exe")) == 3
    assert needs(profile, "3.16.0a1", r"\.(exe|msi)") == []
    assert needs(profile, "3.16.0a1", r"-embed-\w+\.zip") == [Need.REQUIRED] * 3


@pytest.mark.parametrize(("name", "count"), [("3.13.16", 0), ("3.14.0b3", 2), ("3.14.2", 2), ("3.16.0a1", 2)])
def test_android_begins_with_3_14(profile: Profile, name: str, count: int) -> None:
    assert needs(profile, name, r"-linux-android\.tar\.gz") == [Need.REQUIRED] * count


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("3.13.16", {}),
        ("3.14.2", {"Python-3.14.2-iOS-XCframework.tar.gz": Need.OPTIONAL}),
        ("3.15.0", {"python-3.15.0-iOS-XCframework.tar.gz": Need.REQUIRED}),
        ("3.16.0a1", {"python-3.16.0a1-iOS-XCframework.tar.gz": Need.REQUIRED}),
    ],
)
def test_ios_begins_with_3_15(profile: Profile, name: str, expected: Mapping[str, Need]) -> None:
    items = expect(profile, name).values()

    assert {i.key.rpartition("/")[2]: i.need for i in items if i.key.endswith("ork.tar.gz")} == expected


# --- Series ---


@pytest.mark.parametrize("name", ["3.11.15", "3.12.13", "3.13.16", "3.14.8", "3.15.1", "3.16.0a2"])
def test_every_maintained_series_gets_releases_today(profile: Profile, name: str) -> None:
    assert profile.refuse_series(parse(profile, name), TODAY) == ()


@pytest.mark.parametrize(
    ("name", "today", "found"),
    [
        ("3.9.26", TODAY, "series 3.9"),
        ("3.17.0a1", TODAY, "series 3.17"),
        ("3.10.23", TODAY, "series 3.10, which is end-of-life"),
        ("3.11.16", date(2027, 11, 1), "series 3.11 as 'security' from 2024-04-25 to 2027-10-31"),
        ("3.12.20", date(2028, 11, 1), "series 3.12 as 'security' from 2025-04-09 to 2028-10-31"),
        ("3.13.20", date(2029, 11, 1), "series 3.13 as 'security' from 2026-10-08 to 2029-10-31"),
        ("3.13.16", date(2026, 10, 7), "series 3.13 as 'security' from 2026-10-08 to 2029-10-31"),
        ("3.14.14", date(2027, 10, 8), "series 3.14 as 'bugfix' from 2025-10-07 to 2027-10-07"),
        ("3.15.0", date(2026, 10, 8), "series 3.15 as 'bugfix' from 2026-10-09 to 2028-10-01"),
        ("3.16.0b1", date(2027, 5, 5), "series 3.16 as 'feature' from 2026-05-07 to 2027-05-04"),
    ],
)
def test_a_release_outside_the_life_of_its_series_is_refused(
    profile: Profile, name: str, today: date, found: str
) -> None:
    (refusal,) = profile.refuse_series(parse(profile, name), today)

    assert (refusal.rule, refusal.subject) == ("series", name)
    assert refusal.found.startswith(found)


@pytest.mark.parametrize(
    ("name", "today"),
    [
        ("3.11.16", date(2027, 10, 31)),
        ("3.13.16", date(2026, 10, 8)),
        ("3.14.14", date(2027, 10, 7)),
        ("3.15.0", date(2026, 10, 9)),
        ("3.16.0b1", date(2027, 5, 4)),
    ],
)
def test_the_first_and_last_day_of_a_status_count(profile: Profile, name: str, today: date) -> None:
    assert profile.refuse_series(parse(profile, name), today) == ()


# --- Keys ---


@pytest.mark.parametrize("name", NAMES)
def test_every_key_may_be_public_beside_the_others(profile: Profile, name: str) -> None:
    expected = expect(profile, name)

    assert {key: keys.find_problem(key) for key in expected if keys.find_problem(key)} == {}
    assert keys.find_conflicts(expected, ()) == ()
    assert all(key.startswith("python/") for key in expected)


def test_releases_of_one_folder_do_not_get_in_each_other_s_way(profile: Profile) -> None:
    everything = [
        key for name in ("3.14.0a1", "3.14.0b3", "3.14.0rc1", "3.14.0") for key in expect(profile, name)
    ]

    assert len(set(everything)) == len(everything)
    assert keys.find_conflicts(everything, ()) == ()


@pytest.mark.parametrize(
    ("name", "key", "url"),
    [
        ("3.14.0b3", "python/3.14.0/Python-3.14.0b3.tgz", "3.14.0/Python-3.14.0b3.tgz"),
        ("3.14.0b3", "python/3.14.0/amd64b3/core.msi", "3.14.0/amd64b3/core.msi"),
        ("3.14.2", "python/3.14.2/amd64/core.msi", "3.14.2/amd64/core.msi"),
    ],
)
def test_urls_are_those_of_the_download_server(profile: Profile, name: str, key: str, url: str) -> None:
    assert key in expect(profile, name)
    assert profile.url(key) == f"https://www.python.org/ftp/python/{url}"


def test_every_file_but_the_macos_package_has_a_media_type(profile: Profile) -> None:
    untyped = {
        key.rpartition(".")[2]
        for name in NAMES
        for key, item in expect(profile, name).items()
        if item.delivery.content_type == "application/octet-stream"
    }

    assert untyped == {"pkg"}


def test_the_media_type_is_that_of_the_longest_suffix(profile: Profile) -> None:
    expected = expect(profile, "3.14.0b3")

    assert expected["python/3.14.0/windows-3.14.0b3.json"].delivery.content_type == "application/json"
    assert expected["python/3.14.0/Python-3.14.0b3.tgz.spdx.json"].delivery.content_type == (
        "application/spdx+json"
    )


# --- Signatures, records ---


@pytest.mark.parametrize(
    ("name", "person", "issuer"),
    [
        ("3.10.21", "pablogsal", GOOGLE),
        ("3.11.15", "pablogsal", GOOGLE),
        ("3.12.13", "thomas", GOOGLE),
        ("3.13.16", "thomas", GOOGLE),
        ("3.14.0b3", "hugo", GITHUB),
        ("3.14.9", "hugo", GITHUB),
        ("3.15.0rc2", "hugo", GITHUB),
        ("3.16.0a1", "savannah", GITHUB),
    ],
)
def test_a_release_is_signed_by_the_release_manager_of_its_series(
    profile: Profile, name: str, person: str, issuer: str
) -> None:
    release = parse(profile, name)

    assert profile.find_identities(release) == (Identity(f"{person}@python.org", issuer),)
    assert profile.find_recorders(release) == profile.find_identities(release)
    assert list(refuse_nobody(profile, release, signed_records=True)) == []


def test_a_series_that_nobody_is_written_down_for_is_refused(profile: Profile) -> None:
    release = parse(profile, "3.17.0a1")

    assert profile.find_identities(release) == ()
    assert [refusal.rule for refusal in refuse_nobody(profile, release, signed_records=False)] == ["identity"]


def test_every_series_of_the_profile_has_somebody_who_may_sign(profile: Profile) -> None:
    assert profile.accepted.series.keys() == profile.series.keys()
    assert all(profile.accepted.series.values())
    assert (profile.accepted.everywhere, profile.accepted.releases, profile.accepted.records) == ((), {}, ())


SUFFIX_FORMATS = {
    ".sigstore": Format.BUNDLE,
    ".sig": Format.SIGNATURE,
    ".crt": Format.CERTIFICATE,
    ".asc": Format.OPENPGP,
    ".spdx.json": Format.SBOM,
}


@pytest.mark.parametrize("name", NAMES)
def test_every_sidecar_is_checked_by_its_format(profile: Profile, name: str) -> None:
    for key, item in expect(profile, name).items():
        suffix = key.removeprefix(item.artifact or key)
        assert item.format is SUFFIX_FORMATS.get(suffix, Format.FILE), key
        assert (item.format is Format.FILE) is (item.artifact is None), key


def test_signatures_may_be_amended_and_nothing_else(profile: Profile) -> None:
    for name in NAMES:
        amendable = {
            item.format for item in expect(profile, name).values() if item.delivery.cache_class == "amendable"
        }
        others = {item.format for item in expect(profile, name).values()} - amendable
        assert amendable <= {*SIGSTORE, Format.OPENPGP}
        assert others <= {Format.FILE, Format.SBOM}


def test_openpgp_keys_are_named_for_the_series_that_openpgp_signatures_are_asked_for(
    profile: Profile,
) -> None:
    for name in ("3.11.15", "3.12.13", "3.13.16", "3.14.2", "3.15.0", "3.16.0a1"):
        release = parse(profile, name)
        asked = any(item.format is Format.OPENPGP for item in profile.expect(release).values())
        found = profile.accepted.find_keys(release.series)
        assert bool(found) is asked, name
        # The release manager's, the Windows expert's and the macOS expert's.
        assert len(found) == (3 if asked else 0)


def test_the_keys_themselves_lie_beside_the_profile(profile: Profile) -> None:
    assert profile.keyring == "cpython-keys.asc"
    keyring = (ROOT / "profiles" / profile.keyring).read_text("ascii")
    assert keyring.count("-----BEGIN PGP PUBLIC KEY BLOCK-----") >= 1
    assert "PRIVATE" not in keyring


def test_a_record_becomes_public_beside_the_release(profile: Profile) -> None:
    record = profile.place_record(parse(profile, "3.14.0b3"), 2)

    assert record is not None
    assert record.key == "python/3.14.0/python-3.14.0b3-record-2.sigstore"
    assert record.delivery == Delivery("application/json", "immutable", "public, max-age=31536000, immutable")


@pytest.mark.parametrize("name", NAMES)
def test_records_get_in_the_way_of_no_file(profile: Profile, name: str) -> None:
    release = parse(profile, name)
    records = [profile.place_record(release, number) for number in (1, 2, 10)]
    placed = {record.key for record in records if record}

    assert len(placed) == 3
    assert placed.isdisjoint(profile.expect(release))
    assert [keys.find_problem(key) for key in placed] == [None] * 3
    assert keys.find_conflicts(placed, profile.expect(release)) == ()


def test_records_of_one_folder_do_not_get_in_each_other_s_way(profile: Profile) -> None:
    names = ("3.14.0a1", "3.14.0a10", "3.14.0b1", "3.14.0rc1", "3.14.0")
    records = [profile.place_record(parse(profile, name), number) for name in names for number in (1, 11)]

    assert len({record.key for record in records if record}) == len(records) == 10


# --- Roles ---


def test_every_role_delivers_or_reads_what_the_others_deliver(profile: Profile) -> None:
    assert profile.deliverers() == ("source", "windows", "pymanager", "macos")
    assert profile.roles["qa"].reads == profile.deliverers()
    assert {item.role for item in expect(profile, "3.14.0b3").values()} == {*profile.deliverers(), RM}
    assert profile.commit_required


# --- The code ---


class _WithoutDocstrings(ast.NodeTransformer):
    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return ast.Pass() if is_text else node


@pytest.mark.parametrize("path", sorted((ROOT / "publisher").rglob("*.py")), ids=lambda path: path.stem)
def test_no_code_knows_cpython(path: Path) -> None:
    code = ast.unparse(_WithoutDocstrings().visit(ast.parse(path.read_text())))

    assert re.findall(r"cpython|python\.org|3\.1[0-9]", code, re.IGNORECASE) == []
