"""Profiles as files: what the short ones mean, and what is said about the wrong ones."""

from datetime import date
from pathlib import Path

import pytest

from publisher.core.digests import of_bytes
from publisher.core.identity import Identity
from publisher.core.listing_rules import ListingRules
from publisher.core.profile import RM, Delivery, Duty, Expected, Need, Profile, PublicRecord, SignalRule
from publisher.core.signing import Format
from publisher.documents.profile import load_profile, parse_profile
from publisher.errors import ConfigError, Exit

PLAIN = Path(__file__).parents[2] / "profiles" / "plain.toml"

ISSUER = "https://accounts.example.org"

FULL = r"""
schema = 1

[project]
name = "Tool"
version = '(?P<series>\d+\.\d+)\.\d+(?P<stage>b?)\d*'
base_url = "https://downloads.example.org/"
key_prefix = "tool/"

[kinds]
beta = { stage = "b" }
security = { status = ["security"] }
final = {}

[series."1.1"]
status = "security"
since = 2030-01-01
until = 2030-12-31

[series."1.2"]
status = "bugfix"

[roles.builder]
owner = "someone"
signers = [{ name = "https://ci.example.org/build", issuer = "https://ci.example.org" }]

[roles.qa]
duty = "tests"
reads = ["builder"]

[classes]
immutable = "public, max-age=31536000, immutable"
short = "public, max-age=60"

[content_types]
".json" = "application/json"
".spdx.json" = "application/spdx+json"
".tgz" = "application/gzip"

[signing]
bundle = ".sigstore"

[identity.issuers]
example = "https://accounts.example.org"

[identity.series]
"1.1" = [{ name = "old@example.org", issuer = "example" }]
"1.2" = [
  { name = "rm@example.org", issuer = "example" },
  { name = "deputy@example.org", issuer = "https://other.example.org" },
]

[identity.release]
"1.2.7" = [{ name = "stand-in@example.org", issuer = "example" }]

[openpgp]
keys = "keys.asc"

[openpgp.series]
"1.1" = ["0123 4567 89ab cdef 0123  4567 89ab cdef 0123 4567"]

[record]
key = "tool/{release}/record-{number}.json"

[listing]
slug = ["{stage}", "{row}"]
release_name = "Tool {release}"
release_slug = "tool-{series}-{release}"
version = 3
pre_kinds = ["beta"]
source = "src"
url_prefix = "https://example.org/"

[listing.systems]
src = "Source release"
linux = "Linux"

[listing.notes]
final = "https://docs.example.org/{release}/"
beta = "https://docs.example.org/{series}/new/"

[[outside]]
name = "git tag"
url = "https://git.example.org/tool/v{release}"

[[outside]]
name = "documentation"
url = "http://docs.example.org/{series}/{release}/"
kinds = ["final", "security"]

[handover]
commit = true

[[artifact]]
key = "tool/{release}/tool-{arch}.tgz"
each = { arch = ["x", "y"] }
role = "builder"
required = ["final"]
optional = "beta"
sign = true
row = { name = "Tool ({arch})", os = "linux", description = "for {series}", button = true }
sidecars = [{ suffix = ".spdx.json" }, { suffix = ".asc", by = "rm", need = "optional", until = "1.1" }]

[[artifact]]
key = "tool/{release}/notes.txt"
role = "builder"
since = "1.2"
class = "short"
content_type = "text/plain"
"""

SMALL = r"""
schema = 1
project = { name = "Tool", version = '\d+\.\d+\.\d+', base_url = "https://downloads.example.org/" }
roles = { builder = { owner = "someone" } }

[[artifact]]
key = "{release}/tool.tgz"
role = "builder"
"""


def a_profile(old: str = "", new: str = "", text: str = FULL) -> Profile:
    """Parse the full profile with one passage of it replaced, which must be there exactly once."""
    assert not old or text.count(old) == 1, f"{old!r} is {text.count(old)} times in the profile"
    return parse_profile((text.replace(old, new) if old else text).encode(), "tool.toml")


def expect(profile: Profile, name: str) -> dict[str, Expected]:
    release = profile.parse_release(name)
    assert release is not None
    return dict(profile.expect(release))


def test_an_ordinary_project_needs_no_more_than_ten_lines() -> None:
    lines = [line for line in PLAIN.read_text().splitlines() if line.strip()]
    profile = load_profile(PLAIN)

    assert len(lines) <= 10
    assert profile.digest == of_bytes(PLAIN.read_bytes())
    assert profile.commit_required is False
    assert profile.deliverers() == ("maintainer",)
    item, bundle = expect(profile, "1.2.3").values()
    assert profile.url(item.key) == "https://downloads.example.org/1.2.3/Python-1.2.3.tgz"
    assert (item.role, item.need, item.sign, item.row) == ("maintainer", Need.REQUIRED, True, None)
    assert item.delivery == Delivery("application/gzip", "immutable", "public, max-age=31536000, immutable")
    assert (bundle.key, bundle.role, bundle.need) == (f"{item.key}.sigstore.json", RM, Need.REQUIRED)
    assert profile.accepted.everywhere == (Identity("maintainer@example.org", ISSUER),)


def test_a_sidecar_has_its_artifacts_cache_class_unless_it_names_another() -> None:
    profile = a_profile('{ suffix = ".spdx.json" }', '{ suffix = ".spdx.json", class = "short" }')
    signed = a_profile('bundle = ".sigstore"', 'bundle = ".sigstore"\nclass = "short"')
    key = "tool/1.2.0/tool-x.tgz"

    assert expect(a_profile(), "1.2.0")[f"{key}.spdx.json"].delivery.cache_class == "immutable"
    assert expect(profile, "1.2.0")[f"{key}.spdx.json"].delivery.cache_class == "short"
    assert expect(profile, "1.2.0")[f"{key}.sigstore"].delivery.cache_class == "immutable"
    assert expect(signed, "1.2.0")[f"{key}.sigstore"].delivery.cache_control == "public, max-age=60"


def test_every_release_of_an_ordinary_project_is_of_the_one_kind() -> None:
    profile = load_profile(PLAIN)
    release = profile.parse_release("1.2.3")

    assert release is not None
    assert release.kind == "release"
    assert profile.refuse_series(release, date(2030, 1, 1)) == ()
    assert profile.parse_release("1.2") is None


def test_digits_of_other_scripts_make_no_version() -> None:
    assert load_profile(PLAIN).parse_release("1.2.٣") is None


def test_a_full_profile_means_what_it_says() -> None:
    profile = a_profile()

    assert (profile.name, profile.key_prefix, profile.commit_required) == ("Tool", "tool/", True)
    assert [kind.name for kind in profile.kinds] == ["beta", "security", "final"]
    assert profile.series["1.1"].until == date(2030, 12, 31)
    assert (profile.roles["qa"].duty, profile.roles["qa"].reads) == (Duty.TESTS, ("builder",))
    assert profile.deliverers() == ("builder",)
    assert profile.slug == ("{stage}", "{row}")


def test_artifacts_and_sidecars_are_expected_as_written() -> None:
    assert [(item.key, item.role, item.need) for item in expect(a_profile(), "1.1.0b1").values()] == [
        ("tool/1.1.0b1/tool-x.tgz", "builder", Need.OPTIONAL),
        ("tool/1.1.0b1/tool-x.tgz.spdx.json", "builder", Need.REQUIRED),
        ("tool/1.1.0b1/tool-x.tgz.asc", RM, Need.OPTIONAL),
        ("tool/1.1.0b1/tool-x.tgz.sigstore", RM, Need.REQUIRED),
        ("tool/1.1.0b1/tool-y.tgz", "builder", Need.OPTIONAL),
        ("tool/1.1.0b1/tool-y.tgz.spdx.json", "builder", Need.REQUIRED),
        ("tool/1.1.0b1/tool-y.tgz.asc", RM, Need.OPTIONAL),
        ("tool/1.1.0b1/tool-y.tgz.sigstore", RM, Need.REQUIRED),
    ]


def test_how_releases_are_listed_is_read() -> None:
    assert a_profile().listing == ListingRules(
        release_name="Tool {release}",
        release_slug="tool-{series}-{release}",
        version=3,
        pre_kinds=frozenset({"beta"}),
        notes={
            "final": "https://docs.example.org/{release}/",
            "beta": "https://docs.example.org/{series}/new/",
        },
        systems={"src": "Source release", "linux": "Linux"},
        source="src",
        url_prefix="https://example.org/",
    )


LISTING = '[listing]\nrelease_name = "Tool {release}"\nrelease_slug = "tool-{release}"\n'


def test_a_listing_needs_no_more_than_the_name_and_the_slug_of_a_release() -> None:
    listing = parse_profile((SMALL + LISTING).encode(), "tool.toml").listing

    assert listing == ListingRules(
        release_name="Tool {release}",
        release_slug="tool-{release}",
        version=1,
        pre_kinds=frozenset(),
        notes={},
        systems={},
        source="source",
        url_prefix="https://downloads.example.org/",
    )


def test_a_project_without_a_release_database_is_listed_nowhere_whatever_rows_it_has() -> None:
    row = SMALL + 'row = { name = "Tool", os = "any" }\n'

    assert load_profile(PLAIN).listing is None
    assert parse_profile(row.encode(), "tool.toml").listing is None
    assert parse_profile((SMALL + '[listing]\nslug = ["{row}"]\n').encode(), "tool.toml").listing is None


def test_a_row_is_of_a_system_that_the_database_has() -> None:
    row = SMALL + 'row = { name = "Tool", os = "any" }\n'
    known = parse_profile((row + LISTING + 'systems = { any = "Any" }\n').encode(), "tool.toml")

    assert known.listing is not None
    assert known.listing.systems == {"any": "Any"}
    for systems, allowed in (('systems = { all = "All" }\n', "one of all"), ("", "one of none")):
        with pytest.raises(ConfigError, match=rf"artifact\[0\]\.row\.os: found 'any', expected {allowed}$"):
            parse_profile((row + LISTING + systems).encode(), "tool.toml")


@pytest.mark.parametrize(
    "table",
    [
        'release_name = "Tool {release}"\n',
        'release_slug = "tool-{release}"\n',
        'systems = { linux = "Linux" }\n',
    ],
    ids=["name without slug", "slug without name", "systems alone"],
)
def test_half_a_release_database_is_none(table: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_profile((SMALL + "[listing]\n" + table).encode(), "tool.toml")
    assert str(caught.value) == (
        "tool.toml: listing: found no release_name or no release_slug, expected both, or no database at all"
    )


def test_what_others_have_to_show_first_is_read() -> None:
    final = frozenset({"final", "security"})
    every = a_profile('kinds = ["final", "security"]', 'kinds = "all"')
    one = a_profile('kinds = ["final", "security"]', 'kinds = "final"')

    assert a_profile().signals == (
        SignalRule("git tag", "https://git.example.org/tool/v{release}", None),
        SignalRule("documentation", "http://docs.example.org/{series}/{release}/", final),
    )
    assert every.signals[1].kinds == {"beta", "security", "final"}
    assert one.signals[1].kinds == {"final"}
    assert load_profile(PLAIN).signals == ()


def test_an_artifact_without_needs_is_required_for_every_kind() -> None:
    for name in ("1.2.0", "1.2.0b1"):
        assert expect(a_profile(), name)[f"tool/{name}/notes.txt"].need is Need.REQUIRED


def test_all_stands_for_every_kind() -> None:
    profile = a_profile('required = ["final"]\noptional = "beta"', 'optional = ["all"]')

    assert expect(profile, "1.2.0b1")["tool/1.2.0b1/tool-x.tgz"].need is Need.OPTIONAL
    assert expect(profile, "1.1.0")["tool/1.1.0/tool-x.tgz"].need is Need.OPTIONAL


def test_what_signing_makes_is_told_apart_by_its_format() -> None:
    three = a_profile('bundle = ".sigstore"', 'bundle = ".b"\nsignature = ".sig"\ncertificate = ".crt"')
    signed = {
        key.removeprefix("tool/1.2.0/tool-x.tgz"): (item.format, item.role, item.need, item.builder)
        for key, item in expect(three, "1.2.0").items()
        if key.startswith("tool/1.2.0/tool-x.tgz.")
    }

    assert signed == {
        ".spdx.json": (Format.FILE, "builder", Need.REQUIRED, None),
        ".b": (Format.BUNDLE, RM, Need.REQUIRED, "builder"),
        ".sig": (Format.SIGNATURE, RM, Need.REQUIRED, "builder"),
        ".crt": (Format.CERTIFICATE, RM, Need.REQUIRED, "builder"),
    }


@pytest.mark.parametrize(
    ("written", "signed"),
    [
        ("true", {"1.2.0", "1.2.0b1", "1.1.0"}),
        ('"all"', {"1.2.0", "1.2.0b1", "1.1.0"}),
        ('["final", "security"]', {"1.2.0", "1.1.0"}),
        ('"beta"', {"1.2.0b1"}),
        ("[]", set[str]()),
        ("false", set[str]()),
    ],
)
def test_an_artifact_is_signed_in_all_kinds_of_release_or_in_those_named(
    written: str, signed: set[str]
) -> None:
    profile = a_profile("sign = true", f"sign = {written}")

    for name in ("1.2.0", "1.2.0b1", "1.1.0"):
        key = f"tool/{name}/tool-x.tgz"
        expected = expect(profile, name)
        assert expected[key].sign is (name in signed)
        assert (f"{key}.sigstore" in expected) is (name in signed)


def test_a_bundle_has_the_usual_suffix_unless_the_profile_names_another() -> None:
    signed = parse_profile((SMALL + "sign = true\n").encode(), "tool.toml")

    assert list(expect(signed, "1.2.3")) == ["1.2.3/tool.tgz", "1.2.3/tool.tgz.sigstore.json"]
    assert "tool/1.2.0/tool-x.tgz.sigstore" in expect(a_profile(), "1.2.0")


@pytest.mark.parametrize(
    ("written", "format_"),
    [("", Format.FILE), (', format = "spdx"', Format.SBOM), (', format = "openpgp"', Format.OPENPGP)],
)
def test_a_sidecar_is_of_the_format_that_the_profile_says(written: str, format_: Format) -> None:
    profile = a_profile('{ suffix = ".spdx.json" }', f'{{ suffix = ".spdx.json"{written} }}')

    assert expect(profile, "1.2.0")["tool/1.2.0/tool-x.tgz.spdx.json"].format is format_


def test_whose_signatures_count_is_read_with_issuers_by_name_or_url() -> None:
    accepted = a_profile().accepted

    assert accepted.everywhere == ()
    assert accepted.series == {
        "1.1": (Identity("old@example.org", ISSUER),),
        "1.2": (
            Identity("rm@example.org", ISSUER),
            Identity("deputy@example.org", "https://other.example.org"),
        ),
    }
    assert accepted.releases == {"1.2.7": (Identity("stand-in@example.org", ISSUER),)}
    assert accepted.records == ()


def test_who_may_sign_records_is_named_apart() -> None:
    records = "[identity]\nrecords = [{ name = 'ops', issuer = 'example' }]\n\n[identity.issuers]"
    profile = a_profile("[identity.issuers]", records)

    assert profile.accepted.records == (Identity("ops", ISSUER),)
    assert profile.accepted.series == a_profile().accepted.series


def test_a_project_without_series_names_who_may_sign_everything() -> None:
    identity = (
        '[identity]\naccepted = [{ name = "rm@example.org", issuer = "https://accounts.example.org" }]\n'
    )
    profile, nobodys = (parse_profile((SMALL + table).encode(), "tool.toml") for table in (identity, ""))
    release = profile.parse_release("1.2.3")

    assert release is not None
    assert profile.find_identities(release) == (Identity("rm@example.org", ISSUER),)
    assert nobodys.find_identities(release) == ()


def test_fingerprints_are_read_as_people_write_them() -> None:
    profile = a_profile()
    long = a_profile('"1.1" = ["0123', f'"1.2" = ["{"aB" * 32}"]\n"1.1" = ["0123')

    assert profile.keyring == "keys.asc"
    assert profile.accepted.keys == {"1.1": frozenset({"0123456789ABCDEF0123456789ABCDEF01234567"})}
    assert profile.accepted.all_keys == frozenset()
    assert long.accepted.find_keys("1.2") == frozenset({"AB" * 32})
    assert load_profile(PLAIN).keyring is None


PGP = '[openpgp]\nkeys = "keys.asc"\n'


def test_a_project_without_series_names_the_keys_that_count_for_everything() -> None:
    accepted = f'accepted = ["{"0123 4567 " * 5}"]\n'
    profile = parse_profile((SMALL + PGP + accepted).encode(), "tool.toml")
    release = profile.parse_release("1.2.3")

    assert release is not None
    assert profile.accepted.find_keys(release.series) == {"01234567" * 5}
    assert profile.accepted.keys == {}
    with pytest.raises(ConfigError, match=r"openpgp\.accepted\[0\]: found 'x', expected a whole fingerprint"):
        parse_profile((SMALL + PGP + 'accepted = ["x"]\n').encode(), "tool.toml")


def test_openpgp_signatures_need_a_file_of_keys() -> None:
    sidecar = 'sidecars = [{ suffix = ".asc", format = "openpgp" }]\n'
    plain = 'sidecars = [{ suffix = ".asc" }]\n'

    assert parse_profile((SMALL + sidecar + PGP).encode(), "tool.toml").keyring == "keys.asc"
    assert parse_profile((SMALL + plain).encode(), "tool.toml").keyring is None
    with pytest.raises(ConfigError) as caught:
        parse_profile((SMALL + sidecar).encode(), "tool.toml")
    assert str(caught.value) == (
        "tool.toml: artifact[0] ({release}/tool.tgz).sidecars: found format 'openpgp', "
        "expected [openpgp] with the keys that count"
    )


def test_a_roles_signers_are_read() -> None:
    profile = a_profile()

    assert profile.roles["builder"].signers == (
        Identity("https://ci.example.org/build", "https://ci.example.org"),
    )
    assert profile.roles["qa"].signers == ()


def test_a_record_is_placed_and_served_as_the_profile_says() -> None:
    release = a_profile().parse_release("1.2.0b1")
    short = a_profile('record-{number}.json"', 'record-{number}.json"\nclass = "short"')
    served = Delivery("application/json", "immutable", "public, max-age=31536000, immutable")

    assert release is not None
    assert a_profile().place_record(release, 2) == PublicRecord("tool/1.2.0b1/record-2.json", served)
    assert short.place_record(release, 2) == PublicRecord(
        "tool/1.2.0b1/record-2.json", Delivery("application/json", "short", "public, max-age=60")
    )
    assert parse_profile(SMALL.encode(), "tool.toml").place_record(release, 2) is None


def test_the_longest_suffix_decides_the_content_type() -> None:
    expected = expect(a_profile(), "1.2.0")

    assert {key.rpartition("/")[2]: item.delivery.content_type for key, item in expected.items()} == {
        "tool-x.tgz": "application/gzip",
        "tool-x.tgz.spdx.json": "application/spdx+json",
        "tool-x.tgz.sigstore": "application/octet-stream",
        "tool-y.tgz": "application/gzip",
        "tool-y.tgz.spdx.json": "application/spdx+json",
        "tool-y.tgz.sigstore": "application/octet-stream",
        "notes.txt": "text/plain",
    }


def test_the_class_decides_the_cache_control() -> None:
    notes = expect(a_profile(), "1.2.0")["tool/1.2.0/notes.txt"]

    assert (notes.delivery.cache_class, notes.delivery.cache_control) == ("short", "public, max-age=60")


def test_a_key_may_come_from_another_rule_in_another_series() -> None:
    profile = a_profile(
        'key = "tool/{release}/notes.txt"\nrole = "builder"\nsince = "1.2"',
        'key = "tool/{release}/tool-x.tgz"\nrole = "builder"\nsince = "1.2"\n\n'
        '[[artifact]]\nkey = "tool/{release}/notes.txt"\nrole = "builder"',
        FULL.replace('role = "builder"\nrequired', 'role = "builder"\nuntil = "1.1"\nrequired'),
    )

    assert expect(profile, "1.2.0").keys() == {"tool/1.2.0/tool-x.tgz", "tool/1.2.0/notes.txt"}


def read_error(old: str, new: str) -> str:
    with pytest.raises(ConfigError) as caught:
        a_profile(old, new)
    assert caught.value.exit_status is Exit.MISUSED
    return str(caught.value)


# What is replaced, by what; then what the message says was found where, and what is allowed there.
BAD = {
    "an unknown key": (
        "owner =",
        "ovner =",
        "tool.toml: roles.builder.ovner is not a known key",
        "expected one of owner, duty, reads, signers; did you mean 'owner'?",
    ),
    "an unknown key at the top": (
        "[listing]",
        "[xyz]",
        "tool.toml: xyz is not a known key",
        "expected one of schema, project, kinds, series, roles, classes, content_types, artifact, signing",
    ),
    "an unknown key in a list": (
        '{ suffix = ".spdx.json" }',
        '{ suffix = ".spdx.json", optional = true }',
        "tool.toml: artifact[0].sidecars[0].optional is not a known key",
        "expected one of suffix, format, by, need, class, since, until",
    ),
    "an unknown key in an optional table": (
        "button = true",
        "botton = true",
        "tool.toml: artifact[0].row.botton is not a known key",
        "expected one of name, os, description, button; did you mean 'button'?",
    ),
    "an alias misspelt": ('class = "short"', 'clas = "short"', "did you mean 'class'?", ""),
    "an unknown key of a series with the name of a key": (
        '[series."1.2"]\nstatus = "bugfix"',
        '[series.status]\nstatus = "bugfix"\nuntill = 2030-01-01',
        "series.status.untill is not a known key",
        "expected one of status, since, until; did you mean 'until'?",
    ),
    "another schema": ("schema = 1", "schema = 2", "tool.toml: schema: found 2", "input should be 1"),
    "a missing key": (
        'base_url = "https://downloads.example.org/"',
        "",
        "tool.toml: project.base_url is missing",
        "",
    ),
    "a wrong type": (
        "commit = true",
        'commit = "yes"',
        "tool.toml: handover.commit: found 'yes'",
        "input should be a valid boolean",
    ),
    "a wrong type in a list of words": (
        'stage = "b" }',
        "stage = [1] }",
        "tool.toml: kinds.beta.stage[0]: found 1",
        "input should be a valid string",
    ),
    "a wrong type for words": (
        'stage = "b" }',
        "stage = 1 }",
        "tool.toml: kinds.beta.stage: found 1",
        "input should be a valid list",
    ),
    "an unknown status": (
        'status = "bugfix"',
        'status = "bugfixes"',
        "tool.toml: series.1.2.status: found 'bugfixes'",
        "input should be 'feature', 'prerelease', 'bugfix', 'security' or 'end-of-life'",
    ),
    "no regular expression": (
        "<stage>b?)",
        "<stage>b?",
        "tool.toml: project.version is not a regular expression: missing ), unterminated subpattern",
        "",
    ),
    "no group for the series": (
        "?P<series>",
        "?P<line>",
        "tool.toml: project.version: found no group 'series'",
        "expected (?P<series>…)",
    ),
    "a base URL without its slash": (
        "https://downloads.example.org/",
        "https://downloads.example.org",
        "tool.toml: project.base_url: found 'https://downloads.example.org'",
        "expected an http(s) URL that ends with a slash",
    ),
    "a key prefix without its slash": (
        'key_prefix = "tool/"',
        'key_prefix = "tool"',
        "tool.toml: project.key_prefix: found 'tool'",
        "expected nothing, or a folder with its trailing slash",
    ),
    "a key prefix that may not be public": (
        'prefix = "tool/"',
        'prefix = "/"',
        "project.key_prefix: found '/'",
        "",
    ),
    "a kind by an unknown group": (
        "beta = { stage",
        "beta = { stages",
        "tool.toml: kinds.beta.stages: found 'stages'",
        "expected one of series, stage, status",
    ),
    "a kind by an unknown status": (
        'security = { status = ["security"] }',
        'security = { status = ["secure"] }',
        "tool.toml: kinds.security.status: found 'secure'",
        "expected one of bugfix, end-of-life, feature, prerelease, security",
    ),
    "a series that ends before it begins": (
        "until = 2030-12-31",
        "until = 2029-12-31",
        "tool.toml: series.1.1: found since 2030-01-01 until 2029-12-31",
        "expected until on or after since",
    ),
    "a name no role can have": (
        "[roles.qa]",
        "[roles._rm]",
        "tool.toml: roles._rm: found '_rm'",
        "string should match pattern",
    ),
    "an unknown role to read from": (
        'reads = ["builder"]',
        'reads = ["bilder"]',
        "tool.toml: roles.qa.reads: found 'bilder'",
        "expected one of builder, qa",
    ),
    "an unknown role": (
        'role = "builder"\nsince',
        'role = "bilder"\nsince',
        "tool.toml: artifact[1] (tool/{release}/notes.txt).role: found 'bilder'",
        "expected a role that delivers: builder",
    ),
    "a role that tests and delivers": (
        'role = "builder"\nsince',
        'role = "qa"\nsince',
        ".role: found 'qa'",
        "expected a role that delivers: builder",
    ),
    "an unknown series": (
        'since = "1.2"',
        'since = "1.3"',
        "tool.toml: artifact[1] (tool/{release}/notes.txt): found '1.3'",
        "expected one of 1.1, 1.2",
    ),
    "an unknown series of a sidecar": (
        'until = "1.1" }',
        'until = "1" }',
        "artifact[0] (tool/{release}/tool-{arch}.tgz).sidecars: found '1'",
        "expected one of 1.1, 1.2",
    ),
    "since after until": (
        'since = "1.2"',
        'since = "1.2"\nuntil = "1.1"',
        "found since 1.2 until 1.1",
        "expected a range in the order of [series]",
    ),
    "an unknown kind": (
        'required = ["final"]',
        'required = ["fnal"]',
        "artifact[0] (tool/{release}/tool-{arch}.tgz).required: found 'fnal'",
        "expected one of all, beta, final, security",
    ),
    "a kind that is required and optional": (
        'optional = "beta"',
        'optional = "final"',
        "found kind 'final' both required and optional",
        "expected one of the two",
    ),
    "an unknown class": (
        'class = "short"',
        'class = "shrt"',
        "tool.toml: artifact[1] (tool/{release}/notes.txt).class: found 'shrt'",
        "expected one of immutable, short",
    ),
    "an unknown class of a sidecar": (
        '{ suffix = ".spdx.json" }',
        '{ suffix = ".spdx.json", class = "shrt" }',
        "tool.toml: artifact[0] (tool/{release}/tool-{arch}.tgz).class: found 'shrt'",
        "expected one of immutable, short",
    ),
    "an unknown class of signatures": (
        'bundle = ".sigstore"',
        'bundle = ".sigstore"\nclass = "shrt"',
        "tool.toml: signing.class: found 'shrt'",
        "expected one of immutable, short",
    ),
    "a suffix that only `each` shows": (
        'tool-{arch}.tgz"\neach = { arch = ["x", "y"] }',
        'tool-{arch}"\neach = { arch = ["x.tgz", "y.tgz"] }',
        "tool.toml: artifact[0] (tool/{release}/tool-{arch}).key: found the suffix '.tgz' made by {…}",
        "expected it written out, or a content_type",
    ),
    "an unknown placeholder in a key": (
        "{release}/tool-{arch}",
        "{release}/tool-{cpu}",
        ".key: found '{cpu}'",
        "expected one of {arch}, {release}, {series}, {stage}",
    ),
    "an unknown placeholder in a row": (
        "Tool ({arch})",
        "Tool ({cpu})",
        ".row.name: found '{cpu}', expected",
        "",
    ),
    "an unknown placeholder in a description": (
        "for {series}",
        "for {line}",
        ".row.description: found '{line}'",
        "expected one of {arch}, {release}, {series}, {stage}",
    ),
    "an unknown placeholder in a slug": (
        '["{stage}", "{row}"]',
        '["{stag}", "{row}"]',
        "tool.toml: listing.slug: found '{stag}'",
        "expected one of {release}, {row}, {series}, {stage}",
    ),
    "a placeholder that is more than a name": (
        "for {series}",
        "for {series!r}",
        "artifact[0].row.description: found 'for {series!r}'",
        "expected a plain name between braces",
    ),
    "a brace left open": ("for {series}", "for {series", "found 'for {series'", "expected '}' before end of"),
    "a key outside the key prefix": (
        "tool/{release}/notes.txt",
        "{release}/notes.txt",
        "artifact[1] ({release}/notes.txt).key: found {release}/notes.txt",
        "expected a key under 'tool/'",
    ),
    "a key that may not be public": (
        "tool/{release}/notes.txt",
        "tool/{release}~1/notes.txt",
        ".key: found 'tool/{release}~1/notes.txt': it has '~'; letters, digits and . _ + - are allowed",
        "",
    ),
    "a value of each that may not be public": (
        'arch = ["x", "y"]',
        'arch = ["x", "y z"]',
        ".key: found 'tool/{release}/tool-y z.tgz': it has ' '; letters, digits and . _ + - are allowed",
        "",
    ),
    "no values in each": (
        '["x", "y"]',
        "[]",
        "tool.toml: artifact[0].each.arch: found []",
        "list should have at",
    ),
    "a suffix without its dot": (
        '".sigstore"',
        '"sigstore"',
        "tool.toml: signing.bundle: found 'sigstore'",
        "expected a dot and letters, digits or . _ + -",
    ),
    "a suffix with a slash": (
        '".spdx.json" }',
        '".spdx/json" }',
        "artifact[0].sidecars[0].suffix: found '.spdx/json'",
        "expected a dot and letters",
    ),
    "a suffix that may not be public": (
        '".json" =',
        '".js~n" =',
        "tool.toml: content_types..js~n: found '.js~n'",
        "expected a dot",
    ),
    "a key that two rules make": (
        "{release}/notes.txt",
        "{release}/tool-x.tgz",
        "found 'tool/{release}/tool-x.tgz', which artifact[0] (tool/{release}/tool-{arch}.tgz) makes too",
        "expected each key once",
    ),
    "a key that one rule makes twice": (
        "tool-{arch}.tgz",
        "tool.tgz",
        "found 'tool/{release}/tool.tgz', which artifact[0] (tool/{release}/tool.tgz) makes too",
        "",
    ),
    "a sidecar that is also a signature": (
        '".spdx.json" }',
        '".sigstore" }',
        "found 'tool/{release}/tool-x.tgz.sigstore', which artifact[0]",
        "",
    ),
    "the list of suffixes of old": (
        'bundle = ".sigstore"',
        'suffixes = [".sigstore"]',
        "tool.toml: signing.suffixes is not a known key",
        "expected one of bundle, signature, certificate, class",
    ),
    "a signature like the bundle": (
        'bundle = ".sigstore"',
        'bundle = ".sigstore"\nsignature = ".sigstore"',
        "found 'tool/{release}/tool-x.tgz.sigstore', which artifact[0]",
        "",
    ),
    "a certificate without its dot": (
        'bundle = ".sigstore"',
        'bundle = ".sigstore"\ncertificate = "crt"',
        "tool.toml: signing.certificate: found 'crt'",
        "expected a dot and letters, digits or . _ + -",
    ),
    "an unknown kind that is signed": (
        "sign = true",
        'sign = ["final", "fnal"]',
        "artifact[0] (tool/{release}/tool-{arch}.tgz).sign: found 'fnal'",
        "expected one of all, beta, final, security",
    ),
    "an unknown format": (
        '{ suffix = ".spdx.json" }',
        '{ suffix = ".spdx.json", format = "cyclonedx" }',
        "tool.toml: artifact[0].sidecars[0].format: found 'cyclonedx'",
        "input should be 'file', 'spdx' or 'openpgp'",
    ),
    "a format that only signing makes": (
        '{ suffix = ".spdx.json" }',
        '{ suffix = ".spdx.json", format = "bundle" }',
        "tool.toml: artifact[0].sidecars[0].format: found 'bundle'",
        "input should be 'file', 'spdx' or 'openpgp'",
    ),
    "an identity without its issuer": (
        '{ name = "old@example.org", issuer = "example" }',
        '{ name = "old@example.org" }',
        "tool.toml: identity.series.1.1[0].issuer is missing",
        "",
    ),
    "an issuer without an identity": (
        '{ name = "old@example.org", issuer = "example" }',
        '{ issuer = "example" }',
        "tool.toml: identity.series.1.1[0].name is missing",
        "",
    ),
    "an identity with an empty issuer": (
        '"https://other.example.org"',
        '""',
        "tool.toml: identity.series.1.2[1].issuer: found ''",
        "string should have at least 1 character",
    ),
    "an identity without a name": (
        '"stand-in@example.org"',
        '""',
        "tool.toml: identity.release.1.2.7[0].name: found ''",
        "string should have at least 1 character",
    ),
    "an unknown issuer": (
        'name = "stand-in@example.org", issuer = "example"',
        'name = "stand-in@example.org", issuer = "exampel"',
        "tool.toml: identity.release.'1.2.7': found issuer 'exampel'",
        "expected an https URL, or one of example",
    ),
    "an unknown issuer of a series": (
        '"https://other.example.org"',
        '"http://other.example.org"',
        "tool.toml: identity.series.'1.2': found issuer 'http://other.example.org'",
        "expected an https URL, or one of example",
    ),
    "an unknown issuer of a role": (
        'issuer = "https://ci.example.org"',
        'issuer = "ci"',
        "tool.toml: roles.builder.signers: found issuer 'ci'",
        "expected an https URL, or one of example",
    ),
    "a role's signer without its issuer": (
        ', issuer = "https://ci.example.org" }',
        " }",
        "tool.toml: roles.builder.signers[0].issuer is missing",
        "",
    ),
    "an issuer that is no https URL": (
        'example = "https://accounts.example.org"',
        'example = "http://accounts.example.org"',
        "tool.toml: identity.issuers.example: found 'http://accounts.example.org'",
        "string should match pattern",
    ),
    "identities for everything beside series": (
        "[identity.issuers]",
        "[identity]\naccepted = [{ name = 'x', issuer = 'example' }]\n\n[identity.issuers]",
        "tool.toml: identity.accepted: found it beside [series]",
        "expected identities by series, so that an unknown one refuses",
    ),
    "identities of an unknown series": (
        '"1.1" = [{ name',
        '"1.3" = [{ name',
        "tool.toml: identity.series: found '1.3'",
        "expected one of 1.1, 1.2",
    ),
    "keys of an unknown series": (
        '"1.1" = ["0123',
        '"1.3" = ["0123',
        "tool.toml: openpgp.series: found '1.3'",
        "expected one of 1.1, 1.2",
    ),
    "the short id of a key": (
        '"0123 4567 89ab cdef 0123  4567 89ab cdef 0123 4567"',
        '"89ab cdef 0123 4567"',
        "tool.toml: openpgp.series.1.1[0]: found '89ab cdef 0123 4567'",
        "expected a whole fingerprint, 40 or 64 hex digits",
    ),
    "a fingerprint with a letter too many": (
        "89ab cdef 0123 4567",
        "89ab cdef 0123 456g",
        "tool.toml: openpgp.series.1.1[0]: found '0123 4567 89ab cdef 0123  4567 89ab cdef 0123 456g'",
        "expected a whole fingerprint, 40 or 64 hex digits",
    ),
    "keys without their file": (
        'keys = "keys.asc"',
        "",
        "tool.toml: openpgp.keys is missing",
        "",
    ),
    "keys for everything beside series": (
        'keys = "keys.asc"',
        f'keys = "keys.asc"\naccepted = ["{"0" * 40}"]',
        "tool.toml: openpgp.accepted: found it beside [series]",
        "expected fingerprints by series",
    ),
    "identities of what is no version": (
        '"1.2.7" = [{',
        '"1.2" = [{',
        "tool.toml: identity.release: found '1.2'",
        "expected versions as project.version has them",
    ),
    "signers of a role that hands nothing over": (
        'duty = "tests"',
        'duty = "tests"\nsigners = [{ name = "qa", issuer = "example" }]',
        "tool.toml: roles.qa.signers: found them for a tester",
        "expected signers of a role that delivers",
    ),
    "a listing of releases without a slug": (
        'release_slug = "tool-{series}-{release}"',
        "",
        "tool.toml: listing: found no release_name or no release_slug",
        "expected both, or no database at all",
    ),
    "a listing of releases without a name": (
        'release_name = "Tool {release}"',
        "",
        "tool.toml: listing: found no release_name or no release_slug",
        "expected both, or no database at all",
    ),
    "an unknown key of the listing": (
        "pre_kinds =",
        "pre_kind =",
        "tool.toml: listing.pre_kind is not a known key",
        "expected one of slug, release_name, release_slug, version, pre_kinds, notes, systems, source, url_",
    ),
    "an unknown placeholder in the name of a release": (
        '"Tool {release}"',
        '"Tool {relase}"',
        "tool.toml: listing.release_name: found '{relase}'",
        "expected one of {release}, {series}, {stage}",
    ),
    "an unknown placeholder in the slug of a release": (
        '"tool-{series}-',
        '"tool-{row}-',
        "tool.toml: listing.release_slug: found '{row}'",
        "expected one of {release}, {series}, {stage}",
    ),
    "an unknown placeholder in the release notes": (
        "{series}/new/",
        "{line}/new/",
        "tool.toml: listing.notes.beta: found '{line}'",
        "expected one of {release}, {series}, {stage}",
    ),
    "a brace left open in the name of a release": (
        '"Tool {release}"',
        '"Tool {release"',
        "tool.toml: listing.release_name: found 'Tool {release'",
        "expected '}' before end of string",
    ),
    "a kind that is never the latest and unknown": (
        'pre_kinds = ["beta"]',
        'pre_kinds = ["bta"]',
        "tool.toml: listing: found 'bta'",
        "expected one of beta, final, security",
    ),
    "release notes of an unknown kind": (
        'final = "https://docs',
        'fnal = "https://docs',
        "tool.toml: listing: found 'fnal'",
        "expected one of beta, final, security",
    ),
    "all kinds, where each has its own release notes": (
        'final = "https://docs',
        'all = "https://docs',
        "tool.toml: listing: found 'all'",
        "expected one of beta, final, security",
    ),
    "an unknown operating system": (
        'os = "linux"',
        'os = "linx"',
        "tool.toml: artifact[0].row.os: found 'linx'",
        "expected one of linux, src",
    ),
    "a prefix of URLs that is none": (
        'url_prefix = "https://example.org/"',
        'url_prefix = "example.org/"',
        "tool.toml: listing.url_prefix: found 'example.org/'",
        "expected an http(s) URL that ends with a slash",
    ),
    "a signal without its URL": (
        'url = "https://git.example.org/tool/v{release}"',
        "",
        "tool.toml: outside[0].url is missing",
        "",
    ),
    "a signal without a name": (
        'name = "git tag"',
        'name = ""',
        "tool.toml: outside[0].name: found ''",
        "string should have at least 1 character",
    ),
    "an unknown placeholder in a signal": (
        "tool/v{release}",
        "tool/v{version}",
        "tool.toml: outside[0].url: found '{version}'",
        "expected one of {release}, {series}, {stage}",
    ),
    "a signal of an unknown kind": (
        'kinds = ["final", "security"]',
        'kinds = ["final", "secure"]',
        "tool.toml: outside[1].kinds: found 'secure'",
        "expected one of all, beta, final, security",
    ),
    "a signal that is no web page": (
        '"https://git.example.org/',
        '"ssh://git.example.org/',
        "tool.toml: outside[0].url: found 'ssh://git.example.org/tool/v{release}'",
        "string should match pattern",
    ),
    "an unknown key of a signal": (
        'kinds = ["final", "security"]',
        'kind = ["final", "security"]',
        "tool.toml: outside[1].kind is not a known key",
        "expected one of name, url, kinds; did you mean 'kinds'?",
    ),
    "a record without its number": (
        "record-{number}.json",
        "record.json",
        "tool.toml: record.key: found tool/{release}/record.json",
        "expected {number} in it: each record has its own key",
    ),
    "a record with a number between double braces": (
        "record-{number}.json",
        "record-{{number}}.json",
        "tool.toml: record.key: found tool/{release}/record-{{number}}.json",
        "expected {number} in it: each record has its own key",
    ),
    "a record without its release": (
        "tool/{release}/record-{number}.json",
        "tool/{series}/record-{number}.json",
        "tool.toml: record.key: found tool/{series}/record-{number}.json",
        "expected {release} in it: each record has its own key",
    ),
    "an unknown placeholder in a record": (
        "record-{number}.json",
        "record-{number}-{arch}.json",
        "tool.toml: record.key: found '{arch}'",
        "expected one of {number}, {release}, {series}, {stage}",
    ),
    "a record outside the key prefix": (
        "tool/{release}/record-{number}.json",
        "{release}/record-{number}.json",
        "tool.toml: record.key: found {release}/record-{number}.json",
        "expected a key under 'tool/'",
    ),
    "an unknown class of records": (
        'record-{number}.json"',
        'record-{number}.json"\nclass = "shrt"',
        "tool.toml: record.class: found 'shrt'",
        "expected one of immutable, short",
    ),
}


@pytest.mark.parametrize(("old", "new", "found", "allowed"), BAD.values(), ids=BAD)
def test_a_mistake_is_named_with_file_key_and_what_is_allowed(
    old: str, new: str, found: str, allowed: str
) -> None:
    text = read_error(old, new)

    assert f"{found}, {allowed}".removesuffix(", ") in text
    assert all(line.startswith("tool.toml: ") for line in text.splitlines())


@pytest.mark.parametrize(
    "table",
    [
        '[identity.series]\n"1.2" = [{ name = "rm@example.org", issuer = "https://accounts.example.org" }]\n',
        f'[openpgp]\nkeys = "keys.asc"\nseries = {{ "1.2" = ["{"0" * 40}"] }}\n',
    ],
)
def test_a_project_without_series_has_nobody_by_series(table: str) -> None:
    with pytest.raises(ConfigError, match=r"found '1\.2', expected one of none, since the profile has no"):
        parse_profile((SMALL + table).encode(), "tool.toml")


def test_a_key_that_two_rules_make_is_found_without_series_too() -> None:
    twice = PLAIN.read_text() + '[[artifact]]\nkey = "{release}/Python-{release}.tgz"\nrole = "maintainer"\n'

    with pytest.raises(ConfigError, match="expected each key once"):
        parse_profile(twice.encode(), "tool.toml")


def test_every_mistake_is_named_once() -> None:
    with pytest.raises(ConfigError) as caught:
        a_profile("", "", FULL.replace('"short"', '"shrt"').replace('reads = ["builder"]', 'reads = ["x"]'))

    assert [line.split(" found ")[0] for line in str(caught.value).splitlines()] == [
        "tool.toml: roles.qa.reads:",
        "tool.toml: artifact[1] (tool/{release}/notes.txt).class:",
    ]


def test_a_file_that_is_not_toml_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"^tool\.toml is not TOML: .*\(at line 1, column 1\)"):
        parse_profile(b"{}", "tool.toml")


def test_a_file_that_is_not_utf_8_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"^tool\.toml is not TOML: 'utf-8' codec can't decode byte 0xff"):
        parse_profile(b"\xff\xfes\x00", "tool.toml")


def test_an_empty_file_lacks_every_required_key() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_profile(b"", "tool.toml")

    assert str(caught.value).splitlines() == [
        f"tool.toml: {key} is missing" for key in ("schema", "project", "roles", "artifact")
    ]


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    missing = tmp_path / "none.toml"

    with pytest.raises(ConfigError) as caught:
        load_profile(missing)
    assert str(caught.value) == f"cannot read the profile {missing}: No such file or directory"


def test_a_folder_is_no_profile(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read the profile"):
        load_profile(tmp_path)
