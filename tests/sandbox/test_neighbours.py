"""What a sandbox's site works with: found by the program through its configuration and credentials alone."""

import http.client
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from publisher.core.profile import Profile
from publisher.documents.profile import load_profile, parse_profile
from publisher.errors import AnnounceError, ListingError
from publisher.settings import Settings, connect
from publisher.workflow.outside import find_silent
from publisher.workflow.world import World
from sandbox.neighbours import Neighbours, Outside, find_login, run_neighbours, run_outside
from sandbox.sigstore import RELEASE_MANAGER
from tests.support.listing_fake import LISTED_PROFILE
from tests.support.site import PROFILE

CPYTHON = Path(__file__).parents[2] / "profiles" / "cpython.toml"
EXPORTED = """
schema = 1
profile = "tool.toml"
roles = ["linux"]

[aws]
region = "us-east-1"
staging_bucket = "staging"
public_bucket = "public"
distribution_id = "E1"
kvs_arn = "arn:aws:cloudfront::123456789012:key-value-store/1"

[site]
public_base_url = "http://127.0.0.1:9/"
cdn_url = "http://127.0.0.1:9/"

[gate]
lag_seconds = 1
settle_seconds = 4
error_ttl_seconds = 2
"""


def rules_of(text: bytes) -> Profile:
    return parse_profile(text, "tool.toml")


@pytest.fixture(scope="module")
def neighbours() -> Generator[Neighbours]:
    with run_neighbours(rules_of(LISTED_PROFILE)) as running:
        yield running


@pytest.fixture
def outside() -> Generator[Outside]:
    with run_outside() as running:
        yield running


def ask(url: str) -> int:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=30)
    try:
        connection.request("HEAD", parts.path)
        return connection.getresponse().status
    finally:
        connection.close()


def make_world(
    neighbours: Neighbours, folder: Path, monkeypatch: pytest.MonkeyPatch, **changed: str
) -> World:
    """Make the world as the program does, from the files and the environment that a sandbox prepares."""
    rules = rules_of(LISTED_PROFILE)
    (folder / "tool.toml").write_text(neighbours.rewrite(LISTED_PROFILE.decode(), rules), "utf-8")
    (folder / "publisher.toml").write_text(EXPORTED + neighbours.write_config(rules), "utf-8")
    # Nobody uses those of AWS; without any, the SDK would look for some on the network.
    aws = {"AWS_ACCESS_KEY_ID": "nobody", "AWS_SECRET_ACCESS_KEY": "nothing"}
    for name, value in {**aws, **neighbours.credentials(), **changed}.items():
        monkeypatch.setenv(name, value)
    return connect(Settings(config=str(folder / "publisher.toml")))


# --- Through the program -----------------------------------------------------------------------------------


def test_the_program_finds_its_database_and_forum_and_may_use_them(
    neighbours: Neighbours, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(neighbours, tmp_path, monkeypatch)
    assert world.database is not None
    assert world.forum is not None

    world.database().check_access()
    assert {"source", "macos"} <= set(world.database().read_systems())
    url = world.forum().post("A topic about this test", "It is long enough to be posted.", "a-test")
    assert world.forum().find("a-test") == url
    assert url.startswith(neighbours.forum.url)


def test_with_other_credentials_it_may_use_neither(
    neighbours: Neighbours, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = {"PUBLISHER_LISTING_TOKEN": "0" * 40, "PUBLISHER_DISCOURSE_KEY": "0" * 64}
    world = make_world(neighbours, tmp_path, monkeypatch, **wrong)
    assert world.database is not None
    assert world.forum is not None

    with pytest.raises(ListingError, match="Invalid token"):
        world.database().check_access()
    with pytest.raises(AnnounceError):
        world.forum().find("a-test")


def test_signals_lead_to_this_machine_and_keep_their_placeholders(
    neighbours: Neighbours, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(neighbours, tmp_path, monkeypatch)
    release = world.profile.parse_release("1.2.3")
    assert release is not None

    signals = world.profile.list_signals(release)

    assert [signal.url for signal in signals] == [f"{neighbours.outside.url}git.example.org/v1.2.3"]
    assert find_silent(world, signals) == ()
    neighbours.outside.silent.add(r"git\.example\.org/v1\.2\.3")
    assert find_silent(world, signals) == ((signals[0], "status 404"),)
    neighbours.outside.silent.clear()


def test_every_signal_of_the_shipped_profile_is_moved_and_nothing_else_is_changed(
    neighbours: Neighbours, tmp_path: Path
) -> None:
    text = CPYTHON.read_text("utf-8")
    rules = load_profile(CPYTHON)
    moved = tmp_path / "moved.toml"
    moved.write_text(neighbours.rewrite(text, rules), "utf-8")

    found = load_profile(moved)

    assert rules.signals
    assert [(rule.name, rule.kinds) for rule in found.signals] == [
        (rule.name, rule.kinds) for rule in rules.signals
    ]
    assert all(rule.url.startswith(neighbours.outside.url) for rule in found.signals)
    before = [line for line in text.splitlines() if "url" not in line]
    assert [line for line in moved.read_text("utf-8").splitlines() if "url" not in line] == before
    assert found.listing == rules.listing


def test_a_project_without_a_release_database_is_configured_without_one(neighbours: Neighbours) -> None:
    assert "[listing]" not in neighbours.write_config(rules_of(PROFILE))
    assert "[announce]" in neighbours.write_config(rules_of(PROFILE))
    assert "[listing]" in neighbours.write_config(rules_of(LISTED_PROFILE))


def test_no_secret_is_in_the_configuration(neighbours: Neighbours) -> None:
    config = neighbours.write_config(rules_of(LISTED_PROFILE))

    for name, secret in neighbours.credentials().items():
        assert secret.rpartition(":")[2] not in config, name


# --- Everybody else ----------------------------------------------------------------------------------------


def test_everybody_else_answers_and_who_is_silent_does_not(outside: Outside) -> None:
    url = outside.move("https://docs.example.org/release/1.2.3/")
    other = outside.move("https://docs.example.org/release/1.2.4/")
    assert ask(url) == 200

    outside.silent.add(r"docs\.example\.org/release/1\.2\.3/")

    assert ask(url) == 404
    assert ask(other) == 200
    assert outside.asked.count("docs.example.org/release/1.2.3/") == 2


def test_it_is_gone_when_its_block_ends() -> None:
    with run_outside() as running:
        assert ask(running.url) == 200

    with pytest.raises(ConnectionError):
        ask(running.url)


# --- Who signs ---------------------------------------------------------------------------------------------


def test_the_release_manager_is_who_may_sign_the_last_series_but_one() -> None:
    rules = load_profile(CPYTHON)
    login = find_login(rules)

    accepted = [*rules.accepted.series.values()][-2]
    assert (login.name, login.issuer) in [(one.name, one.issuer) for one in accepted]


def test_where_there_are_no_series_it_is_whoever_may_sign_and_else_anybody() -> None:
    rules = rules_of(PROFILE)
    nobody = replace(rules, accepted=replace(rules.accepted, everywhere=(), series={}))

    assert find_login(rules).name == "rm@example.org"
    assert find_login(nobody) == RELEASE_MANAGER
