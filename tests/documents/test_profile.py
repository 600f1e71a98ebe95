"""Profiles as files: what the short ones mean, and what is said about the wrong ones."""

from datetime import date
from pathlib import Path

import pytest

from publisher.core.digests import of_bytes
from publisher.core.profile import RM, Delivery, Duty, Expected, Need, Profile
from publisher.documents.profile import load_profile, parse_profile
from publisher.errors import ConfigError, Exit

PLAIN = Path(__file__).parents[2] / "profiles" / "plain.toml"

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
suffixes = [".sigstore"]

[listing]
slug = ["{stage}", "{row}"]

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
    ((key, item),) = expect(profile, "1.2.3").items()
    assert profile.url(key) == "https://downloads.example.org/1.2.3/Python-1.2.3.tgz"
    assert (item.role, item.need, item.sign, item.row) == ("maintainer", Need.REQUIRED, False, None)
    assert item.delivery == Delivery("application/gzip", "immutable", "public, max-age=31536000, immutable")


def test_a_sidecar_has_its_artifacts_cache_class_unless_it_names_another() -> None:
    profile = a_profile('{ suffix = ".spdx.json" }', '{ suffix = ".spdx.json", class = "short" }')
    signed = a_profile('suffixes = [".sigstore"]', 'suffixes = [".sigstore"]\nclass = "short"')
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
        ("tool/1.1.0b1/tool-x.tgz.sigstore", RM, Need.OPTIONAL),
        ("tool/1.1.0b1/tool-y.tgz", "builder", Need.OPTIONAL),
        ("tool/1.1.0b1/tool-y.tgz.spdx.json", "builder", Need.REQUIRED),
        ("tool/1.1.0b1/tool-y.tgz.asc", RM, Need.OPTIONAL),
        ("tool/1.1.0b1/tool-y.tgz.sigstore", RM, Need.OPTIONAL),
    ]


def test_an_artifact_without_needs_is_required_for_every_kind() -> None:
    for name in ("1.2.0", "1.2.0b1"):
        assert expect(a_profile(), name)[f"tool/{name}/notes.txt"].need is Need.REQUIRED


def test_all_stands_for_every_kind() -> None:
    profile = a_profile('required = ["final"]\noptional = "beta"', 'optional = ["all"]')

    assert expect(profile, "1.2.0b1")["tool/1.2.0b1/tool-x.tgz"].need is Need.OPTIONAL
    assert expect(profile, "1.1.0")["tool/1.1.0/tool-x.tgz"].need is Need.OPTIONAL


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
        "expected one of owner, duty, reads; did you mean 'owner'?",
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
        "expected one of suffix, by, need, class, since, until",
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
        'suffixes = [".sigstore"]',
        'suffixes = [".sigstore"]\nclass = "shrt"',
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
        "tool.toml: signing.suffixes[0]: found 'sigstore'",
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
}


@pytest.mark.parametrize(("old", "new", "found", "allowed"), BAD.values(), ids=BAD)
def test_a_mistake_is_named_with_file_key_and_what_is_allowed(
    old: str, new: str, found: str, allowed: str
) -> None:
    text = read_error(old, new)

    assert f"{found}, {allowed}".removesuffix(", ") in text
    assert all(line.startswith("tool.toml: ") for line in text.splitlines())


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
