"""publisher.toml: what it says, and what is said about a wrong one."""

from pathlib import Path

import pytest

from publisher.config import load_config
from publisher.errors import ConfigError, Exit

GOOD = """
schema = 1
profile = "profiles/tool.toml"
roles = ["linux", "mac"]

[aws]
region = "eu-west-1"
staging_bucket = "tool-staging"
public_bucket = "tool-public"
distribution_id = "E123"
kvs_arn = "arn:aws:cloudfront::123456789012:key-value-store/1"

[site]
public_base_url = "https://dl.example.org/"
cdn_url = "https://d1.cloudfront.net/"

[gate]
lag_seconds = 30
settle_seconds = 20
error_ttl_seconds = 10
"""


def a_config(folder: Path, text: str = GOOD) -> Path:
    path = folder / "publisher.toml"
    path.write_text(text, "utf-8")
    return path


def problem_of(path: Path) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert caught.value.exit_status is Exit.MISUSED
    assert caught.value.next_step
    assert str(path) in str(caught.value)
    return caught.value


def test_a_good_file_says_where_everything_is(tmp_path: Path) -> None:
    config = load_config(a_config(tmp_path))

    assert config.region == "eu-west-1"
    assert (config.staging_bucket, config.public_bucket) == ("tool-staging", "tool-public")
    assert (config.distribution_id, config.kvs_arn[:8]) == ("E123", "arn:aws:")
    assert (config.public_base_url, config.cdn_url) == (
        "https://dl.example.org/",
        "https://d1.cloudfront.net/",
    )
    assert (config.times.lag, config.times.settle, config.times.error_ttl) == (30, 20, 10)
    assert config.roles == {"linux", "mac"}


def test_the_public_sigstore_is_trusted_and_records_are_signed_unless_the_file_says_otherwise(
    tmp_path: Path,
) -> None:
    plain = load_config(a_config(tmp_path))
    own = load_config(
        a_config(tmp_path, GOOD + '[sigstore]\ntrust_config = "trust/own.json"\nrecords = "unsigned"\n')
    )

    assert (plain.trust_config, plain.signed_records) == (None, True)
    assert (own.trust_config, own.signed_records) == (tmp_path / "trust/own.json", False)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('records = "none"', "sigstore.records: found 'none'"),
        ("records = false", "sigstore.records: found False"),
        ('record = "unsigned"', "did you mean 'records'?"),
        ("trust_config = 7", "sigstore.trust_config: found 7"),
    ],
)
def test_records_are_not_left_unsigned_by_a_slip(tmp_path: Path, line: str, said: str) -> None:
    assert said in str(problem_of(a_config(tmp_path, f"{GOOD}[sigstore]\n{line}\n")))


def test_the_profile_lies_relative_to_the_file(tmp_path: Path) -> None:
    assert load_config(a_config(tmp_path)).profile == tmp_path / "profiles/tool.toml"


def test_an_absolute_profile_stays_where_it_is(tmp_path: Path) -> None:
    text = GOOD.replace("profiles/tool.toml", "/srv/tool.toml")

    assert load_config(a_config(tmp_path, text)).profile == Path("/srv/tool.toml")


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("schema = 1\n", "", "schema is missing"),
        ("schema = 1", "schema = 2", "schema: found 2, input should be 1"),
        ('region = "eu-west-1"\n', "", "aws.region is missing"),
        ('region = "eu-west-1"', "region = 7", "aws.region: found 7"),
        ("staging_bucket", "stagin_bucket", "did you mean 'staging_bucket'?"),
        ("[aws]", "[amazon]", "amazon is not a known key, expected one of schema, profile, aws"),
        ('"mac"]', '"Mac"]', "roles[1]: found 'Mac'"),
        ('"mac"]', '"_rm"]', "roles[1]: found '_rm'"),
        ('roles = ["linux", "mac"]', 'roles = "linux"', "roles: found 'linux'"),
        (
            "https://dl.example.org/",
            "https://dl.example.org",
            "expected an http(s) URL that ends with a slash",
        ),
        ("lag_seconds = 30", "lag_seconds = -1", "gate.lag_seconds: found -1"),
        ("settle_seconds = 20", "settle_seconds = 19", "settle_seconds of at least twice error_ttl_seconds"),
    ],
)
def test_what_is_wrong_is_named_with_file_key_and_what_is_allowed(
    tmp_path: Path, right: str, wrong: str, said: str
) -> None:
    assert right in GOOD

    assert said in str(problem_of(a_config(tmp_path, GOOD.replace(right, wrong))))


def test_every_problem_is_named(tmp_path: Path) -> None:
    text = GOOD.replace("schema = 1", "schema = 2").replace("public_bucket", "bucket")

    assert len(str(problem_of(a_config(tmp_path, text))).splitlines()) == 3


def test_what_is_no_toml_is_said_with_the_place(tmp_path: Path) -> None:
    assert "line 1" in str(problem_of(a_config(tmp_path, "schema = = 1")))


def test_what_is_no_text_is_said(tmp_path: Path) -> None:
    path = a_config(tmp_path)
    path.write_bytes(b"schema = 1 # \xff")

    assert "is not TOML" in str(problem_of(path))


def test_a_file_that_is_not_there_is_said_with_the_ways_to_name_one(tmp_path: Path) -> None:
    error = problem_of(tmp_path / "none.toml")

    assert "cannot read" in str(error)
    assert "--config FILE" in error.next_step
    assert "PUBLISHER_CONFIG" in error.next_step


def test_a_folder_in_its_place_is_said(tmp_path: Path) -> None:
    assert "cannot read" in str(problem_of(tmp_path))
