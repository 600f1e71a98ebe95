"""`publisher list`: the rows alone, also for what was public before the gate; and the options around it."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from publisher import cli
from publisher.core.listing_changes import CreateFile, CreateRelease, DeleteFile, UpdateFile, UpdateRelease
from publisher.errors import (
    ConfigError,
    Exit,
    LeaseError,
    ListingError,
    PublisherError,
    UnfinishedError,
    UsageError,
)
from publisher.outcomes import ListedRelease, Promoted, Refused
from publisher.settings import Settings, connect
from publisher.workflow.releases_json import NAME, ReleasesJson
from publisher.workflow.world import World
from tests.support.listing_fake import (
    LISTED_PROFILE,
    SLUG,
    TAG,
    ZIP,
    ListedSite,
    a_listed_site,
    a_release_row,
    url,
)
from tests.support.site import PKG, RELEASE, TGZ

CONFIG = """
schema = 1
profile = "tool.toml"
roles = ["linux", "mac", "qa"]

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

[listing]
kind = "database"
url = "http://127.0.0.1:9/"

[announce]
discourse_url = "http://127.0.0.1:9/"
discourse_category = 4
webhook_url = "http://127.0.0.1:9/hook"
"""
SECRETS = {
    "PUBLISHER_LISTING_TOKEN": "5a" * 20,
    "PUBLISHER_DISCOURSE_KEY": "f0" * 32,
    "PUBLISHER_DISCOURSE_USER": "release-bot",
    "PUBLISHER_WEBHOOK_SECRET": "a secret",
}


class CrashError(BaseException):
    """The process is gone."""


def an_old_site() -> ListedSite:
    """Make a site with a release that was public before the gate existed: no state, no record, just files."""
    site = ListedSite()
    site.s3.public.store(TGZ, b"the archive")
    site.s3.public.store(f"{TGZ}.spdx.json", b"{}")
    site.s3.public.store(PKG, b"the installer", whole=False)
    site.database.add(a_release_row(f"Tool {RELEASE}", SLUG))
    return site


def run_cli(site: ListedSite, line: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    def connect(settings: Settings) -> World:
        return replace(site.world(), observer=settings.make_output())

    capsys.readouterr()
    status = cli.run(shlex.split(line), Settings(connect=connect))
    streams = capsys.readouterr()
    return status, streams.out, streams.err


# --- What was public before --------------------------------------------------------------------------------


def test_a_release_from_before_the_gate_is_listed_from_the_bucket_and_its_sidecars() -> None:
    site = an_old_site()

    outcome = site.list_rows()

    assert isinstance(outcome, ListedRelease)
    assert (outcome.rows, outcome.changes) == (2, {"created": 2, "release updated": 1})
    rows = site.database.rows(SLUG)
    assert set(rows) == {url(TGZ), url(PKG)}
    assert rows[url(TGZ)].sidecars == {".spdx.json": url(f"{TGZ}.spdx.json")}
    assert rows[url(TGZ)].size == len(b"the archive")
    assert rows[url(PKG)].sidecars == {}
    assert site.database.find(SLUG).is_published
    assert site.forum.posts == 0


def test_a_dry_run_tells_what_would_change_and_writes_nothing_anywhere() -> None:
    site = an_old_site()

    outcome = site.list_rows(dry_run=True)

    assert isinstance(outcome, ListedRelease)
    assert outcome.dry_run
    assert outcome.changes == {"created": 2, "release updated": 1}
    assert site.database.writes == []
    assert site.s3.writes == []


def test_a_dry_run_that_would_create_the_release_tells_of_its_rows_too() -> None:
    site = an_old_site()
    site.database.releases.clear()

    outcome = site.list_rows(dry_run=True, create=True)
    assert isinstance(outcome, ListedRelease)
    assert site.database.writes == []
    done = site.list_rows(create=True)

    assert isinstance(done, ListedRelease)
    assert done.changes == outcome.changes == {"release created": 1, "created": 2, "release updated": 1}


def test_what_was_listed_wrongly_before_is_put_right_and_stale_rows_go_last() -> None:
    site = an_old_site()
    site.list_rows()
    (number,) = site.database.releases
    for place, found in list(site.database.files.items()):
        wrong = replace(found.row, sha256="0" * 64)
        site.database.files[place] = replace(found, row=wrong)
    stale = replace(site.database.rows(SLUG)[url(PKG)], slug="stale", url=url("stale"), button=False)
    site.database.apply(CreateFile(number, stale, beside_button=True))
    site.database.writes.clear()

    site.list_rows()

    assert [type(change) for change in site.database.writes] == [UpdateFile, UpdateFile, DeleteFile]
    assert set(site.database.rows(SLUG)) == {url(TGZ), url(PKG)}


def test_to_list_again_writes_nothing_to_the_database() -> None:
    site = an_old_site()
    site.list_rows()
    site.database.writes.clear()

    outcome = site.list_rows()

    assert isinstance(outcome, ListedRelease)
    assert outcome.changes == {}
    assert site.database.writes == []


def test_it_is_written_to_releases_json_where_there_is_no_database() -> None:
    site = an_old_site()
    site.connect = lambda world: ReleasesJson(world.public, world.profile)

    assert isinstance(site.list_rows(dry_run=True, create=True), ListedRelease)
    assert site.s3.public.current(NAME) is None
    assert isinstance(site.list_rows(create=True), ListedRelease)

    found = site.s3.public.current(NAME)
    assert found is not None
    assert len(json.loads(found.data or b"")["files"]) == 2


# --- Refusals and misuse -----------------------------------------------------------------------------------


def test_a_release_of_which_nothing_is_public_is_refused() -> None:
    site = a_listed_site()

    outcome = site.list_rows()

    assert isinstance(outcome, Refused)
    assert outcome.refusals[0].found == "nothing of it public"
    assert site.database.writes == []


def test_a_release_that_the_database_does_not_have_is_refused_without_the_option() -> None:
    site = an_old_site()
    site.database.releases.clear()

    outcome = site.list_rows()

    assert isinstance(outcome, Refused)
    assert [refusal.subject for refusal in outcome.refusals] == [SLUG]
    assert isinstance(site.list_rows(create=True), ListedRelease)
    assert isinstance(site.database.writes[0], CreateRelease)


def test_a_row_of_a_public_file_that_the_profile_does_not_know_is_not_deleted() -> None:
    """A release from before the gate may have had what no release has any more."""
    site = an_old_site()
    site.list_rows()
    (number,) = site.database.releases
    help_key = PKG.replace(".pkg", ".chm")
    row = replace(site.database.rows(SLUG)[url(PKG)], slug="help", url=url(help_key), button=False)
    elsewhere = replace(row, slug="elsewhere", url="https://other.example.org/file")
    for added in (row, elsewhere):
        site.database.apply(CreateFile(number, added, beside_button=True))
    site.s3.public.store(help_key, b"help")
    site.database.writes.clear()

    outcome = site.list_rows()

    assert isinstance(outcome, Refused)
    assert [refusal.subject for refusal in outcome.refusals] == [url(help_key)]
    assert site.database.writes == []
    # A row whose file is gone, and one that leads elsewhere, are only stale.
    site.s3.public.expire(help_key)
    assert isinstance(site.list_rows(), ListedRelease)
    assert set(site.database.rows(SLUG)) == {url(TGZ), url(PKG)}


def test_a_promotion_that_is_not_finished_comes_first() -> None:
    """Not everything of it may be placed, or was seen; its own listing step comes after that."""
    site = a_listed_site()
    site.statuses[TAG] = 404
    with pytest.raises(UnfinishedError):
        site.run()

    outcome = site.list_rows()

    assert isinstance(outcome, Refused)
    assert outcome.refusals[0].cure == f"run: publisher promote {RELEASE}"
    assert site.database.writes == []
    site.statuses.clear()
    assert isinstance(site.run(), Promoted)
    assert isinstance(site.list_rows(), ListedRelease)


@pytest.mark.parametrize("part", ["database", "rules"])
def test_a_project_that_is_listed_nowhere_is_a_misuse(part: str) -> None:
    site = an_old_site()
    site.profile_text = LISTED_PROFILE if part == "database" else bare_profile()
    world = replace(site.world(), database=None) if part == "database" else site.world()

    with pytest.raises(UsageError, match="listed nowhere"):
        cli.listing.run(world, RELEASE, dry_run=False, create=False)


def bare_profile() -> bytes:
    """Give the profile without its release database."""
    start = LISTED_PROFILE.index(b"release_name =")
    end = LISTED_PROFILE.index(b"[[outside]]")
    return LISTED_PROFILE[:start] + LISTED_PROFILE[end:]


def test_a_name_that_is_no_release_is_a_misuse() -> None:
    with pytest.raises(UsageError, match="nonsense"):
        an_old_site().list_rows("nonsense")


def test_while_another_holds_the_lease_nothing_is_written() -> None:
    site = an_old_site()
    die_at(site, "db-write")
    with pytest.raises(CrashError):
        site.list_rows()
    site.s3.before = lambda request, key: None
    writes = len(site.database.writes)

    with pytest.raises(LeaseError):
        site.list_rows()

    assert len(site.database.writes) == writes


# --- Interrupted -------------------------------------------------------------------------------------------


def die_at(site: ListedSite, wanted: str, times: int = 1) -> None:
    left = times

    def die(request: str, key: str) -> None:
        nonlocal left
        left -= request == wanted and left > 0
        if left == 0:
            raise CrashError

    site.s3.before = die


@pytest.mark.parametrize("request_", ["db-write", "db-effects"])
@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_crash_around_any_write_is_finished_by_a_rerun(request_: str, times: int) -> None:
    site = an_old_site()
    die_at(site, request_, times)
    with pytest.raises(CrashError):
        site.list_rows()
    site.s3.before = lambda request, key: None
    site.s3.tick(121)

    assert isinstance(site.list_rows(), ListedRelease)

    assert set(site.database.rows(SLUG)) == {url(TGZ), url(PKG)}
    assert site.database.find(SLUG).is_published
    assert site.database.shown(SLUG) == {url(TGZ), url(PKG)}


def test_pages_that_a_dead_run_left_old_are_made_anew_and_once() -> None:
    site = an_old_site()
    site.list_rows()
    site.s3.public.store(ZIP, b"late")
    die_at(site, "db-effects")
    with pytest.raises(CrashError):
        site.list_rows()
    site.s3.before = lambda request, key: None
    site.s3.tick(121)
    site.database.writes.clear()
    assert url(ZIP) not in site.database.shown(SLUG)

    site.list_rows()

    assert url(ZIP) in site.database.shown(SLUG)
    (renewal,) = site.database.writes
    assert isinstance(renewal, UpdateRelease)
    assert renewal.before == renewal.after
    site.list_rows()
    assert site.database.writes == [renewal]


def test_a_dead_run_of_something_else_lets_nothing_be_made_anew() -> None:
    site = an_old_site()
    site.list_rows()
    site.open("1.2.4")
    site.stage_all(release="1.2.4")
    die_at(site, "copy")
    with pytest.raises(CrashError):
        site.run("1.2.4", given_up={"listing": "later"})
    site.s3.before = lambda request, key: None
    site.s3.tick(121)
    site.database.writes.clear()

    assert isinstance(site.list_rows(), ListedRelease)
    assert site.database.writes == []


def test_an_error_before_any_write_says_that_nothing_public_changed() -> None:
    site = an_old_site()
    refuse_write(site, 1)

    with pytest.raises(ListingError) as caught:
        site.list_rows()

    assert caught.value.exit_status == Exit.FAILED
    assert site.database.rows(SLUG) == {}


def test_an_error_after_a_write_says_that_something_public_changed() -> None:
    site = an_old_site()
    refuse_write(site, 2)

    with pytest.raises(UnfinishedError, match="status 429") as caught:
        site.list_rows()

    assert caught.value.exit_status == Exit.UNFINISHED
    assert caught.value.next_step == "run again in 60 seconds"
    assert len(site.database.rows(SLUG)) == 1
    site.s3.before = lambda request, key: None
    assert isinstance(site.list_rows(), ListedRelease)
    assert len(site.database.rows(SLUG)) == 2


def test_a_write_that_may_have_been_made_counts_as_made() -> None:
    site = an_old_site()
    site.database.lost = dict.fromkeys(range(9), False)

    with pytest.raises(UnfinishedError):
        site.list_rows()


def refuse_write(site: ListedSite, number: int) -> None:
    left = number

    def refuse(request: str, key: str) -> None:
        nonlocal left
        left -= request == "db-write"
        if request == "db-write" and left == 0:
            raise ListingError("status 429, too many requests", "run again in 60 seconds")

    site.s3.before = refuse


# --- The command line --------------------------------------------------------------------------------------


def test_list_says_what_it_did_and_a_dry_run_what_it_would(capsys: pytest.CaptureFixture[str]) -> None:
    site = an_old_site()

    dry = run_cli(site, f"list {RELEASE} --dry-run", capsys)
    done = run_cli(site, f"list {RELEASE} --json", capsys)

    assert dry[0] == 0
    assert f"{RELEASE}: 2 rows would be listed: 2 created, 1 release updated" in dry[1]
    answer = json.loads(done[1])
    assert (answer["exit"], answer["result"], answer["dry_run"]) == (0, "listed", False)
    assert answer["changes"] == {"created": 2, "release updated": 1}


def test_list_creates_the_release_with_the_option_alone(capsys: pytest.CaptureFixture[str]) -> None:
    site = an_old_site()
    site.database.releases.clear()

    refused = run_cli(site, f"list {RELEASE}", capsys)
    created = run_cli(site, f"list {RELEASE} --create-release", capsys)

    assert (refused[0], created[0]) == (3, 0)
    assert "--create-release" in refused[2] + refused[1]


@pytest.mark.parametrize("step", ["copy", "place", "mark", "settle", "record", "go live", "nonsense"])
def test_a_step_that_cannot_be_given_up_is_a_misuse(step: str, capsys: pytest.CaptureFixture[str]) -> None:
    site = a_listed_site()
    site.s3.writes.clear()

    status, _, err = run_cli(site, f"promote {RELEASE} --yes --give-up '{step}' --reason x", capsys)

    assert status == 2
    assert "--give-up" in err
    assert site.s3.writes == []


@pytest.mark.parametrize("step", ["look", "outside", "listing", "announce"])
def test_a_step_that_can_be_given_up_is_left_out_with_a_reason(
    step: str, capsys: pytest.CaptureFixture[str]
) -> None:
    site = a_listed_site()

    assert run_cli(site, f"promote {RELEASE} --yes --give-up {step}", capsys)[0] == 2
    assert site.live() == set()
    status, _, err = run_cli(site, f"promote {RELEASE} --yes --give-up {step} --reason 'x y'", capsys)

    assert status == 0
    assert f"given up: {step}: x y" in err


def test_promote_creates_the_release_and_takes_the_announcement_from_a_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    site = a_listed_site(row=False)
    text = tmp_path / "post.md"
    text.write_text("# At last\n\n{{ files }}\n", "utf-8")
    line = f"promote {RELEASE} --yes --announce-from {shlex.quote(str(text))}"

    assert run_cli(site, line, capsys)[0] == 3
    assert run_cli(site, f"{line} --create-release", capsys)[0] == 0

    ((title, _),) = site.forum.topics.values()
    assert title == "At last"


@pytest.mark.parametrize(
    "data", [None, b"\xff\xfe\x00", b"x" * (1024**2 + 1)], ids=["none", "binary", "huge"]
)
def test_an_announcement_that_cannot_be_read_is_a_misuse(
    data: bytes | None, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    site = a_listed_site()
    site.s3.writes.clear()
    text = tmp_path / "post.md"
    if data is not None:
        text.write_bytes(data)

    for command in (f"promote {RELEASE} --yes --announce-from", f"announce {RELEASE} --from"):
        assert run_cli(site, f"{command} {shlex.quote(str(text))}", capsys)[0] == 2
    assert site.s3.writes == []


# --- Secrets -----------------------------------------------------------------------------------------------


def a_world(folder: Path, monkeypatch: pytest.MonkeyPatch, secrets: Mapping[str, str]) -> World:
    """Make the world as the program does, with these secrets in the environment and no others."""
    (folder / "publisher.toml").write_text(CONFIG, "utf-8")
    (folder / "tool.toml").write_bytes(LISTED_PROFILE)
    for name in (*SECRETS, "PUBLISHER_LISTING_API_KEY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(f"{name}_FILE", raising=False)
    # Nobody uses them; without any, the SDK would look for some on the network.
    aws = {"AWS_ACCESS_KEY_ID": "nobody", "AWS_SECRET_ACCESS_KEY": "nothing"}
    for name, value in {**aws, **secrets}.items():
        monkeypatch.setenv(name, value)
    return connect(Settings(config=str(folder / "publisher.toml")))


def call_all(world: World) -> None:
    assert world.database is not None
    assert world.forum is not None
    assert world.hook is not None
    world.database()
    world.forum()
    world.hook()


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("value", [None, "", "  "])
def test_a_secret_that_is_not_set_is_a_misuse_that_names_it(
    name: str, value: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = {other: text for other, text in SECRETS.items() if other != name}
    if value is not None:
        secrets[name] = value
    world = a_world(tmp_path, monkeypatch, secrets)

    with pytest.raises(ConfigError, match=f"{name} is not set") as caught:
        call_all(world)

    assert caught.value.exit_status == Exit.MISUSED
    assert f"{name}_FILE" in caught.value.next_step


def test_secrets_are_read_from_the_environment_and_only_when_they_are_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call_all(a_world(tmp_path, monkeypatch, SECRETS))
    # Without any, the world is still made: builders have none.
    a_world(tmp_path, monkeypatch, {})


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_can_be_in_a_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "secret"
    path.write_text(f"{SECRETS[name]}\n", "utf-8")
    others = {other: text for other, text in SECRETS.items() if other != name}

    call_all(a_world(tmp_path, monkeypatch, {**others, f"{name}_FILE": str(path)}))
    path.unlink()
    with pytest.raises(ConfigError, match=f"{name}_FILE"):
        call_all(a_world(tmp_path, monkeypatch, {**others, f"{name}_FILE": str(path)}))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PUBLISHER_LISTING_TOKEN", "Token of somebody"),
        ("PUBLISHER_LISTING_API_KEY", "no-colon-in-it"),
        ("PUBLISHER_DISCOURSE_KEY", "blank in it"),
    ],
)
def test_a_secret_that_cannot_be_one_is_refused_and_not_shown(
    name: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = a_world(tmp_path, monkeypatch, {**SECRETS, name: value})

    with pytest.raises(PublisherError) as caught:
        call_all(world)

    assert value not in f"{caught.value}{caught.value.next_step}"


def test_a_promotion_without_the_token_stops_while_nothing_is_public(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    site = a_listed_site()
    site.s3.writes.clear()
    database = a_world(tmp_path, monkeypatch, {}).database

    def connect_without(settings: Settings) -> World:
        return replace(site.world(), observer=settings.make_output(), database=database)

    status = cli.run(["promote", RELEASE, "--yes"], Settings(connect=connect_without))

    assert status == 2
    assert "PUBLISHER_LISTING_TOKEN is not set" in capsys.readouterr().err
    assert site.s3.writes == []
