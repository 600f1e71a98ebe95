"""Fetching staged files: who may have what, verified, continued, and never half under its name."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from publisher.commands import fetch
from publisher.core.digests import of_bytes
from publisher.core.plan import Version
from publisher.errors import AccessDeniedError, GoneError, StoppedError, StoreError, UsageError
from publisher.outcomes import Fetched, Outcome, Refused
from publisher.workflow.downloads import name_part
from publisher.workflow.staged import StagedFile
from tests.support.fakes import FakeS3, Serial
from tests.support.site import PKG, RELEASE, TGZ, Site

SPDX = f"{TGZ}.spdx.json"
SIG = f"{TGZ}.sig"
DATA = b"first " + TGZ.encode()


def a_site() -> Site:
    site = Site()
    site.open()
    site.stage_all()
    return site


def run(site: Site, folder: Path, *names: str, role: str | None = "qa") -> Outcome:
    return fetch.run(site.world("qa"), fetch.FetchRequest(RELEASE, names, role, str(folder)))


def fetched(outcome: Outcome) -> Fetched:
    assert isinstance(outcome, Fetched), outcome
    return outcome


def refused(outcome: Outcome) -> list[tuple[str, str]]:
    assert isinstance(outcome, Refused), outcome
    assert not outcome.waivable
    return [(refusal.rule, refusal.subject) for refusal in outcome.refusals]


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def part_of(site: Site, folder: Path, key: str, role: str = "linux") -> Path:
    stored = site.s3.staging.describe(f"{role}/{RELEASE}/{key}")
    assert stored is not None
    path = folder / key
    path.parent.mkdir(parents=True, exist_ok=True)
    return name_part(path, StagedFile(key, role, stored, None))


def break_after(s3: FakeS3, pieces: int, error: BaseException) -> None:
    count = 0

    def fail(request: str, key: str) -> None:
        nonlocal count
        count += request == "chunk"
        if count > pieces:
            raise error

    s3.before = fail


def stream_instead(monkeypatch: pytest.MonkeyPatch, site: Site, *chunks: bytes) -> None:
    def stream(source: Version, offset: int) -> Iterator[bytes]:
        return iter(chunks)

    monkeypatch.setattr(site.s3.staging, "stream", stream)


def test_everything_that_may_be_read_is_fetched_to_its_public_key(tmp_path: Path) -> None:
    outcome = fetched(run(a_site(), tmp_path))

    assert tree(tmp_path) == {TGZ: DATA, PKG: b"first " + PKG.encode()}
    assert outcome.fetched == tuple(sorted((TGZ, PKG)))
    assert (outcome.skipped, outcome.pending, outcome.unlisted, outcome.unverified) == ((), (), (), ())
    assert outcome.size == sum(len(data) for data in tree(tmp_path).values())


@pytest.mark.parametrize("name", ["linux", TGZ, f"tool-{RELEASE}.tgz", f"{RELEASE}/tool-{RELEASE}.tgz"])
def test_a_role_a_key_or_the_end_of_one_names_what_is_wanted(tmp_path: Path, name: str) -> None:
    assert fetched(run(a_site(), tmp_path, name)).fetched == (TGZ,)
    assert set(tree(tmp_path)) == {TGZ}


def test_names_that_mean_the_same_file_fetch_it_once(tmp_path: Path) -> None:
    assert fetched(run(a_site(), tmp_path, "linux", TGZ, TGZ)).fetched == (TGZ,)


def test_what_is_there_with_the_right_digest_is_left_alone(tmp_path: Path) -> None:
    site = a_site()
    run(site, tmp_path)
    (tmp_path / PKG).write_bytes(b"X" * len((tmp_path / PKG).read_bytes()))
    requests: list[str] = []
    site.s3.before = lambda request, key: requests.append(key) if request == "stream" else None

    outcome = fetched(run(site, tmp_path))

    assert (outcome.skipped, outcome.fetched) == ((TGZ,), (PKG,))
    assert requests == [f"mac/{RELEASE}/{PKG}"]
    assert tree(tmp_path)[PKG] == b"first " + PKG.encode()


# Who may read what.


@pytest.mark.parametrize(
    ("role", "names"),
    [
        ("linux", ["mac"]),
        ("linux", [PKG]),
        ("linux", [f"tool-{RELEASE}.pkg"]),
        ("qa", ["qa"]),
        ("qa", ["_rm"]),
    ],
)
def test_what_a_role_may_not_read_is_refused_before_any_request(
    tmp_path: Path, role: str, names: list[str]
) -> None:
    site = a_site()
    requests: list[str] = []
    site.s3.before = lambda request, key: requests.append(request)

    assert refused(run(site, tmp_path, *names, role=role)) == [("role", names[0])]
    assert requests == []
    assert tree(tmp_path) == {}


@pytest.mark.parametrize(("role", "expected"), [("linux", {TGZ}), ("mac", {PKG}), (None, {TGZ, PKG, SIG})])
def test_a_builder_gets_its_own_and_the_release_manager_everything(
    tmp_path: Path, role: str | None, expected: set[str]
) -> None:
    site = a_site()
    site.stage("_rm", {SIG: b"signature"})

    outcome = fetched(run(site, tmp_path, role=role))

    assert set(tree(tmp_path)) == expected
    assert outcome.pending == ()


def test_no_request_goes_outside_the_folders_that_may_be_read(tmp_path: Path) -> None:
    site = a_site()
    keys: list[str] = []
    site.s3.before = lambda request, key: keys.append(key)

    run(site, tmp_path)

    allowed = (f"linux/{RELEASE}/", f"mac/{RELEASE}/")
    assert all(key.startswith(allowed) for key in keys)
    assert site.s3.writes == [write for write in site.s3.writes if write[0] != "upload"]


def test_only_what_a_listing_shows_is_read(tmp_path: Path) -> None:
    site = Site()
    site.stage("linux", {TGZ: b"x"})
    requests: list[tuple[str, str]] = []
    site.s3.before = lambda request, key: requests.append((request, key))

    run(site, tmp_path, "linux", role="linux")

    # To a tester, the absent SHA256SUMS would answer "forbidden".
    assert ("read", f"linux/{RELEASE}/SHA256SUMS") not in requests


# Names that mean nothing.


@pytest.mark.parametrize(
    ("name", "close"),
    [("linus", "linux"), (f"tool-{RELEASE}.tgs", f"tool-{RELEASE}.tgz"), ("zzz", "everything is meant")],
)
def test_a_name_that_nobody_has_is_a_misuse_with_a_suggestion(tmp_path: Path, name: str, close: str) -> None:
    with pytest.raises(UsageError) as caught:
        run(a_site(), tmp_path, name)
    assert repr(name) in str(caught.value)
    assert close in caught.value.next_step


def test_a_role_that_there_is_not_is_a_misuse(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="found role 'linus'"):
        run(a_site(), tmp_path, role="linus")


def test_a_file_that_is_not_staged_yet_is_refused_and_how_to_wait_is_said(tmp_path: Path) -> None:
    outcome = run(Site(), tmp_path, TGZ)

    assert refused(outcome) == [("missing", TGZ)]
    assert isinstance(outcome, Refused)
    assert outcome.refusals[0].cure == f"wait for it: publisher wait {RELEASE} --role linux"
    assert refused(run(Site(), tmp_path)) == [("missing", RELEASE)]


def test_a_file_in_two_folders_wants_more_of_its_key(tmp_path: Path) -> None:
    site = a_site()
    site.stage("linux", {"a/odd.bin": b"1", "b/odd.bin": b"2", "c/odd.bin": b"3"})

    assert refused(run(site, tmp_path, "odd.bin")) == [("key", "odd.bin")]
    assert fetched(run(site, tmp_path, "b/odd.bin")).unlisted == ("b/odd.bin",)


def test_two_roles_files_of_one_name_are_not_mixed(tmp_path: Path) -> None:
    site = a_site()
    site.stage("mac", {TGZ: b"a stray"})

    assert refused(run(site, tmp_path)) == [("key", TGZ)]
    assert fetched(run(site, tmp_path, "linux")).fetched == (TGZ,)
    assert tree(tmp_path)[TGZ] == DATA


@pytest.mark.parametrize(
    "key", ["../../escaped", "a/../../escaped", "/escaped", "a//b", "a\\..\\b", "CON:", "é"]
)
def test_a_name_that_could_lead_out_of_the_folder_is_left_out(tmp_path: Path, key: str) -> None:
    site = a_site()
    site.stage("linux", {key: b"evil"})
    folder = tmp_path / "deep" / "down"

    outcome = fetched(run(site, folder))

    assert set(outcome.fetched) == {TGZ, PKG}
    assert set(tree(tmp_path)) == {f"deep/down/{TGZ}", f"deep/down/{PKG}"}
    assert any(key in warning for warning in site.observer.warnings)


# Verified against the store and the hand-over.


def test_before_the_hand_over_that_is_said(tmp_path: Path) -> None:
    site = a_site()
    site.s3.staging.mark_deleted(f"mac/{RELEASE}/SHA256SUMS")
    site.stage("linux", {SPDX: b"{}"})

    outcome = fetched(run(site, tmp_path))

    assert (outcome.pending, outcome.unlisted) == (("mac",), (SPDX,))


def test_a_hand_over_that_cannot_be_read_counts_as_none_and_is_warned_of(tmp_path: Path) -> None:
    site = a_site()
    site.stage("linux", {"SHA256SUMS": b"\xff\xfeU"})

    assert fetched(run(site, tmp_path, "linux")).pending == ("linux",)
    assert f"linux/{RELEASE}/SHA256SUMS:1 cannot be read" in site.observer.warnings[0]


def test_a_file_that_its_hand_over_contradicts_is_refused(tmp_path: Path) -> None:
    site = a_site()
    site.stage("linux", {TGZ: b"changed after the hand-over"})

    assert refused(run(site, tmp_path)) == [("digest", TGZ)]
    assert tree(tmp_path) == {}
    assert fetched(run(site, tmp_path, "mac")).fetched == (PKG,)


@pytest.mark.parametrize("listed", [True, False])
def test_without_a_digest_in_the_store_that_of_the_hand_over_counts(tmp_path: Path, listed: bool) -> None:
    site = a_site()
    site.s3.staging.store(f"linux/{RELEASE}/{TGZ}", DATA, whole=False)
    if not listed:
        site.s3.staging.mark_deleted(f"linux/{RELEASE}/SHA256SUMS")

    assert fetched(run(site, tmp_path, "linux")).unverified == (() if listed else (TGZ,))
    again = fetched(run(site, tmp_path, "linux"))
    assert (again.skipped == (TGZ,)) is listed


def test_bytes_that_differ_from_the_digest_never_get_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = a_site()
    (tmp_path / TGZ).parent.mkdir(parents=True)
    (tmp_path / TGZ).write_bytes(b"old")
    stream_instead(monkeypatch, site, b"Z" * len(DATA))

    with pytest.raises(StoreError, match="arrived with sha256:"):
        run(site, tmp_path, "linux")
    assert tree(tmp_path) == {TGZ: b"old"}


def test_a_file_removed_between_the_listing_and_the_look_is_refused(tmp_path: Path) -> None:
    site = a_site()

    def remove(request: str, key: str) -> None:
        if request == "describe" and key.endswith(TGZ):
            site.s3.before = lambda request, key: None
            site.s3.staging.mark_deleted(key)

    site.s3.before = remove
    assert refused(run(site, tmp_path)) == [("missing", TGZ)]


# Broken off and continued.


def test_a_download_that_was_interrupted_is_continued_where_it_stopped(tmp_path: Path) -> None:
    site = a_site()
    break_after(site.s3, 3, KeyboardInterrupt())

    with pytest.raises(StoppedError, match=f"0 of 2 files are in {tmp_path}"):
        run(site, tmp_path)
    (left,) = tree(tmp_path).values()
    assert left == DATA[:12]
    offsets: list[int] = []
    stream = site.s3.staging.stream
    site.s3.before = lambda request, key: None
    site.s3.staging.stream = lambda source, offset: offsets.append(offset) or stream(source, offset)

    assert fetched(run(site, tmp_path, "linux")).fetched == (TGZ,)
    assert offsets == [12]
    assert tree(tmp_path) == {TGZ: DATA}


def test_a_line_that_breaks_is_taken_up_again_at_once_as_long_as_something_comes(tmp_path: Path) -> None:
    site = a_site()
    count = 0

    def break_each_third(request: str, key: str) -> None:
        nonlocal count
        count += request == "chunk"
        if request == "chunk" and count % 3 == 0:
            raise StoreError("the line broke")

    site.s3.before = break_each_third
    assert fetched(run(site, tmp_path, "linux")).fetched == (TGZ,)
    assert tree(tmp_path) == {TGZ: DATA}
    assert site.observer.moved == len(DATA)


def test_a_line_that_brings_nothing_is_an_error_and_what_came_is_kept(tmp_path: Path) -> None:
    site = a_site()
    break_after(site.s3, 2, StoreError("the line is dead"))

    with pytest.raises(StoreError, match="the line is dead"):
        run(site, tmp_path, "linux")
    assert list(tree(tmp_path).values()) == [DATA[:8]]


@pytest.mark.parametrize("error", [AccessDeniedError("no"), GoneError("written again")])
def test_what_waiting_cannot_cure_is_not_tried_again(tmp_path: Path, error: StoreError) -> None:
    site = a_site()
    break_after(site.s3, 1, error)

    with pytest.raises(type(error)):
        run(site, tmp_path, "linux")


def test_a_stream_that_ends_early_without_a_word_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = a_site()
    stream_instead(monkeypatch, site)

    with pytest.raises(StoreError, match="ended after 0 of"):
        run(site, tmp_path, "linux")


def test_a_part_of_another_version_is_not_continued_and_goes_with_the_download(tmp_path: Path) -> None:
    site = a_site()
    part_of(site, tmp_path, TGZ).write_bytes(b"of the first attempt")
    site.stage_all(b"second")

    assert fetched(run(site, tmp_path, "linux")).fetched == (TGZ,)
    assert tree(tmp_path) == {TGZ: b"second " + TGZ.encode()}


def test_the_parts_of_a_sidecar_are_not_taken_for_its_artifacts(tmp_path: Path) -> None:
    site = a_site()
    site.stage("linux", {SPDX: b"{}"})
    part = part_of(site, tmp_path, SPDX)
    part.write_bytes(b"{")

    run(site, tmp_path, TGZ)

    assert part.read_bytes() == b"{"


def test_work_that_is_given_up_stops_between_two_pieces(tmp_path: Path) -> None:
    class Stopping(Serial):
        def stopping(self) -> bool:
            return True

    site = a_site()
    world = replace(site.world(), parallel=Stopping())

    with pytest.raises(StoppedError, match="given up"):
        fetch.run(world, fetch.FetchRequest(RELEASE, ("linux",), "qa", str(tmp_path)))
    assert list(tree(tmp_path).values()) == [b""]


def test_a_folder_that_cannot_be_written_is_a_misuse(tmp_path: Path) -> None:
    (tmp_path / "tool").write_text("a file in the place of the folder")

    with pytest.raises(UsageError, match="cannot write") as caught:
        run(a_site(), tmp_path)
    assert "--to DIR" in caught.value.next_step


@given(data=st.binary(max_size=60), left=st.binary(max_size=70), whole=st.booleans(), step=st.integers(1, 7))
def test_whatever_an_earlier_run_left_the_file_is_right_in_the_end(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, left: bytes, whole: bool, step: int
) -> None:
    folder = tmp_path_factory.mktemp("fetch")
    site = Site()
    site.s3.staging.chunk = step
    site.s3.staging.store(f"linux/{RELEASE}/{TGZ}", data, whole=whole)
    site.hand_over("linux")
    # Either a true beginning, or anything at all: a disk that was full, a hand that slipped.
    part_of(site, folder, TGZ).write_bytes(data[: len(left)] if step % 2 else left)

    outcome = fetched(run(site, folder, "linux"))

    assert outcome.fetched == (TGZ,)
    assert tree(folder) == {TGZ: data}
    assert of_bytes((folder / TGZ).read_bytes()) == of_bytes(data)
