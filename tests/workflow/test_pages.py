"""Index pages on fakes: made from the bucket, swapped only if nobody else did, and seen to be new."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from publisher.commands import promote
from publisher.core.gate import OWNER
from publisher.core.pages_render import read_generation
from publisher.core.profile import PageRule
from publisher.errors import ConflictError, EdgeError, Exit, StoreError
from publisher.workflow.gate import GateKeeper
from publisher.workflow.listing import forget_listing
from publisher.workflow.pages import PageWriter
from publisher.workflow.world import World
from tests.support.fakes import FakeS3
from tests.support.site import FIRST_RECORD, PROFILE, RELEASE, TGZ, Site, say_yes

WITH_PAGES = PROFILE.replace(b"[pages]\nshow = false\n", b"")
RULE = PageRule("", "Tool", r"tool/[^/]+/tool\-[^/]+\.record\-[^/]+\.json")
FOLDER = f"tool/{RELEASE}"
PAGE = f"{FOLDER}/index.html"


class CrashError(Exception):
    """The process is gone."""


def a_site() -> Site:
    site = Site(profile_text=WITH_PAGES)
    site.s3.gate.entries[OWNER] = "x"
    return site


def a_writer(site: Site, world: World | None = None, rule: PageRule = RULE) -> PageWriter:
    world = world or site.world()
    check: Callable[[], None] = lambda: None  # noqa: E731
    return PageWriter(world, GateKeeper(world.gate, check), check, rule)


def put(s3: FakeS3, *keys: str) -> None:
    for key in keys:
        s3.public.store(key, b"x" * len(key))


def read(s3: FakeS3, key: str) -> bytes:
    found = s3.public.current(key)
    assert found is not None
    assert found.data is not None
    return found.data


def names(s3: FakeS3, folder: str) -> list[str]:
    return [entry["name"] for entry in json.loads(read(s3, f"{folder}/index.json"))["entries"]]


def test_every_folder_up_to_the_root_gets_its_page_and_its_entry_in_the_gate() -> None:
    site = a_site()
    put(site.s3, f"{FOLDER}/a.tgz")

    written = a_writer(site).refresh([f"{FOLDER}/a.tgz"], "p1")

    assert written == (
        PAGE,
        f"{FOLDER}/index.json",
        "tool/index.html",
        "tool/index.json",
        "index.html",
        "index.json",
    )
    assert {key for key in site.s3.gate.entries if key.startswith("d:")} == {"d:", "d:tool", f"d:{FOLDER}"}
    assert b'<a href="a.tgz">a.tgz</a>' in read(site.s3, PAGE)


def test_pages_that_are_true_are_left_alone() -> None:
    site = a_site()
    put(site.s3, f"{FOLDER}/a.tgz")
    a_writer(site).refresh([f"{FOLDER}/a.tgz"], "p1")
    writes = len(site.s3.writes)

    assert a_writer(site).refresh([f"{FOLDER}/a.tgz"], "p1") == ()
    assert len(site.s3.writes) == writes


def test_a_page_that_changes_gets_the_next_generation_and_is_invalidated_by_all_its_paths() -> None:
    site = a_site()
    put(site.s3, f"{FOLDER}/a.tgz")
    a_writer(site).refresh([f"{FOLDER}/a.tgz"], "p1")
    put(site.s3, f"{FOLDER}/b.tgz")

    a_writer(site).refresh([f"{FOLDER}/b.tgz"], "p2")

    assert read_generation(read(site.s3, PAGE)) == 2
    assert {f"/{PAGE}", f"/{FOLDER}/", f"/{FOLDER}", f"/{FOLDER}/index.json"} <= set(
        site.s3.cdn.invalidated[-1]
    )


def test_records_and_reserved_names_are_not_shown() -> None:
    site = a_site()
    put(
        site.s3, f"{FOLDER}/a.tgz", f"{FOLDER}/tool-{RELEASE}.record-1.json", "_pending/p/x", "_site/404.html"
    )

    a_writer(site).refresh([f"{FOLDER}/a.tgz"], "p1")

    shown = read(site.s3, PAGE) + read(site.s3, "index.html")
    assert b"record-1" not in shown
    assert b"_pending" not in shown
    assert b"_site" not in shown


def test_a_file_of_its_own_at_a_pages_place_stays() -> None:
    site = a_site()
    put(site.s3, f"{FOLDER}/a.tgz")
    site.s3.public.store(PAGE, b"<html>the documentation's own</html>")

    written = a_writer(site).refresh([f"{FOLDER}/a.tgz"], "p1")

    assert read(site.s3, PAGE) == b"<html>the documentation's own</html>"
    assert PAGE not in written
    assert f"d:{FOLDER}" not in site.s3.gate.entries
    assert any("a file of its own" in text for text in site.observer.warnings)


@pytest.mark.parametrize("request_name", ["create", "replace"])
def test_two_writers_end_with_a_page_that_shows_both_files(request_name: str) -> None:
    site = a_site()
    put(site.s3, f"{FOLDER}/a.tgz")
    if request_name == "replace":
        a_writer(site).refresh([f"{FOLDER}/a.tgz"], "p0")
    put(site.s3, f"{FOLDER}/b.tgz")
    other = a_writer(site)
    done: list[str] = []

    def interleave(request: str, key: str) -> None:
        if request == request_name and key == PAGE and not done:
            done.append(key)
            put(site.s3, f"{FOLDER}/c.tgz")
            other.refresh([f"{FOLDER}/c.tgz"], "p2")

    site.s3.before = interleave
    a_writer(site).refresh([f"{FOLDER}/b.tgz"], "p1")

    assert done
    assert names(site.s3, FOLDER) == ["a.tgz", "b.tgz", "c.tgz"]
    assert b"c.tgz" in read(site.s3, PAGE)


def test_a_page_that_somebody_keeps_writing_is_an_error() -> None:
    site = a_site()
    put(site.s3, f"{FOLDER}/a.tgz")

    def spoil(request: str, key: str) -> None:
        if request in {"create", "replace"} and key == PAGE:
            raise ConflictError("somebody else")

    site.s3.before = spoil
    with pytest.raises(StoreError, match="somebody else keeps writing it"):
        a_writer(site).refresh([f"{FOLDER}/a.tgz"], "p1")


def test_a_lost_answer_is_no_second_write() -> None:
    site = a_site()
    put(site.s3, f"{FOLDER}/a.tgz")
    site.s3.lose_answer_of = len(site.s3.writes)

    written = a_writer(site).refresh([f"{FOLDER}/a.tgz"], "p1")

    assert PAGE in written
    assert read_generation(read(site.s3, PAGE)) == 1


def test_a_crash_before_any_request_is_cured_by_running_again() -> None:
    def run(limit: int) -> tuple[Site, bool]:
        site = a_site()
        put(site.s3, f"{FOLDER}/a.tgz", "tool/b.tgz")
        count = 0

        def crash(request: str, key: str) -> None:
            nonlocal count
            count += 1
            if count == limit:
                raise CrashError

        site.s3.before = crash
        try:
            a_writer(site).refresh([f"{FOLDER}/a.tgz"], "p1")
        except CrashError:
            site.s3.before = lambda request, key: None
            a_writer(site).refresh([f"{FOLDER}/a.tgz"], "p1")
            return site, True
        return site, False

    whole, _ = run(0)
    limit, crashed = 1, True
    while crashed:
        site, crashed = run(limit)
        for key in (PAGE, "tool/index.html", "index.html", f"{FOLDER}/index.json"):
            assert read(site.s3, key) == read(whole.s3, key)
        assert site.s3.gate.entries == whole.s3.gate.entries
        limit += 1
    assert limit > 20


def test_an_edge_that_keeps_serving_the_old_page_is_an_error() -> None:
    site = a_site()
    put(site.s3, f"{FOLDER}/a.tgz")
    a_writer(site).refresh([f"{FOLDER}/a.tgz"], "p1")
    old = read(site.s3, PAGE)
    put(site.s3, f"{FOLDER}/b.tgz")
    world = site.world()
    real = site.s3.web.read
    site.s3.web.read = lambda url: old if url.endswith(PAGE) else real(url)

    with pytest.raises(EdgeError, match="not served as written"):
        a_writer(site, world).refresh([f"{FOLDER}/b.tgz"], "p2")


def test_the_whole_tree_gets_pages_however_odd_its_names() -> None:
    site = a_site()
    odd = ("a+b-c_d.e/x.tgz", "UPPER/lower/-dash/_under", "0/1/2/3.txt", "c++/d+.zip")
    put(site.s3, *odd)

    written = a_writer(site).refresh_all("index")

    folders = {key.rpartition("/")[0] for key in written}
    assert folders == {
        "",
        "a+b-c_d.e",
        "UPPER",
        "UPPER/lower",
        "UPPER/lower/-dash",
        "0",
        "0/1",
        "0/1/2",
        "c++",
    }
    assert a_writer(site).find_stale() == ()
    site.s3.tick(60)
    put(site.s3, "0/new")
    assert a_writer(site).find_stale() == ("0/index.html", "0/index.json", "index.html", "index.json")


def test_ten_thousand_files_are_one_page() -> None:
    site = a_site()
    put(site.s3, *(f"big/file-{number}.tgz" for number in range(10_000)))

    a_writer(site).refresh(["big/file-1.tgz"], "p1")

    assert len(names(site.s3, "big")) == 10_000
    assert read(site.s3, "big/index.html").count(b"\n<a href=") == 10_000


def test_nothing_above_the_root_is_touched() -> None:
    site = a_site()
    put(site.s3, f"{FOLDER}/a.tgz", "other/x")

    written = a_writer(site, rule=PageRule("tool", "Tool", None)).refresh([f"{FOLDER}/a.tgz"], "p1")

    assert "index.html" not in written
    assert "tool/index.html" in written


def test_a_promotion_writes_the_pages_once_it_is_public() -> None:
    site = Site(profile_text=WITH_PAGES)
    site.open()
    site.stage_all()

    outcome = site.promote()

    assert outcome.status is Exit.DONE
    assert names(site.s3, FOLDER) == [f"tool-{RELEASE}.pkg", f"tool-{RELEASE}.tgz"]
    writes = [name for _, name in site.s3.writes]
    live = next(number for number, name in enumerate(writes) if name.startswith("gate/s:"))
    first = next(number for number, name in enumerate(writes) if name.endswith("index.html"))
    assert first > live


def test_records_and_a_listing_that_is_a_file_are_forgotten_by_caches_before_the_cdn() -> None:
    site = Site(profile_text=WITH_PAGES)
    site.open()
    site.stage_all()
    purged: list[str] = []

    class Purger:
        def purge(self, url: str) -> None:
            purged.append(url)

    world = replace(
        site.world(), outer_caches=("https://dl.example.org/",), purger=Purger, listing_key="releases.json"
    )
    site.s3.public.store("releases.json", b"{}")
    assert promote.run(world, promote.PromoteRequest((RELEASE,)), say_yes).status is Exit.DONE
    forget_listing(world, lambda: None)

    assert f"https://dl.example.org/{FIRST_RECORD}" in purged
    assert f"https://dl.example.org/{TGZ}" in purged
    assert f"https://dl.example.org/{FOLDER}/" in purged
    assert "https://dl.example.org/releases.json" in purged
    assert "releases.json" not in read(site.s3, "index.html").decode()


def test_a_page_that_an_edge_still_serves_old_is_seen_by_the_next_run_too() -> None:
    site = a_site()
    put(site.s3, f"{FOLDER}/a.tgz")
    a_writer(site).refresh([f"{FOLDER}/a.tgz"], "p1")
    old = read(site.s3, PAGE)
    put(site.s3, f"{FOLDER}/b.tgz")
    real = site.s3.web.read
    site.s3.web.read = lambda url: old if url.endswith(PAGE) else real(url)
    with pytest.raises(EdgeError):
        a_writer(site).refresh([f"{FOLDER}/b.tgz"], "p2")

    # The bucket is right by now; what is served is not.
    with pytest.raises(EdgeError, match="not served as written"):
        a_writer(site).refresh([f"{FOLDER}/b.tgz"], "p2")

    invalidations = len(site.s3.cdn.invalidated)
    site.s3.web.read = real
    assert a_writer(site).refresh([f"{FOLDER}/b.tgz"], "p2") == ()
    assert len(site.s3.cdn.invalidated) == invalidations
