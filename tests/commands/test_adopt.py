"""Adopting a tree: nothing of it changes, all is written down, and a run that broke off is gone on from."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from publisher import cli
from publisher.commands import adopt, audit
from publisher.commands.adopt import AdoptRequest
from publisher.core.adoption import MAX_FILES, Adoption
from publisher.core.faults import Weight
from publisher.core.gate import OWNER
from publisher.core.lease import Lease
from publisher.core.profile import Delivery
from publisher.documents.adoption import read_adoption
from publisher.documents.state import encode
from publisher.errors import Exit, LeaseError, StoreError, UnfinishedError, UsageError
from publisher.outcomes import AdoptedTree
from publisher.settings import Settings
from tests.support.site import COMMIT, PKG, RELEASE, TGZ, Site

PLAIN = Delivery("application/octet-stream", "", "")
TGZ_TYPE = Delivery("application/gzip", "", "max-age=60")
OLD = "tool/0.9/tool-0.9.tgz"
NOTES = "tool/0.9/NOTES+more.txt"
LEASE = "_state/lease.json"


class CrashError(BaseException):
    """The process is gone: nothing of it runs any more, no `finally` can write."""


def a_tree(*, whole: bool = True) -> Site:
    """Make a site with two files that were uploaded by hand, years ago."""
    site = Site()
    site.s3.public.store(OLD, b"old", TGZ_TYPE, whole=whole)
    site.s3.public.store(NOTES, b"notes", PLAIN, whole=whole)
    site.s3.tick(3600)
    return site


def run(
    site: Site, prefix: str = "tool/0.9", links: Path | None = None, *, dry_run: bool = False
) -> AdoptedTree:
    return adopt.run(site.world(), AdoptRequest(prefix, str(links) if links else None, dry_run))


def a_list(folder: Path, *lines: str) -> Path:
    path = folder / "links.txt"
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def adoptions(site: Site) -> list[Adoption]:
    found: list[Adoption] = []
    for key in site.state("/adopted/"):
        version = site.s3.staging.current(key)
        assert version
        found.append(read_adoption(version.data or b"", key))
    return found


def versions(site: Site) -> dict[str, list[str]]:
    return {key: [version.version_id for version in found] for key, found in site.s3.public.versions.items()}


def rules(outcome: AdoptedTree) -> list[tuple[Weight, str, str]]:
    return [(fault.weight, fault.rule, fault.subject) for fault in outcome.faults]


# --- Files -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("whole", [True, False])
def test_every_file_is_written_down_as_it_is_and_none_is_touched(*, whole: bool) -> None:
    site = a_tree(whole=whole)
    before = versions(site)

    outcome = run(site)

    assert outcome.status is Exit.DONE
    assert sorted(outcome.files) == sorted([OLD, NOTES])
    assert (outcome.size, outcome.streamed, outcome.already) == (8, 0 if whole else 8, 0)
    assert outcome.faults == ()
    assert versions(site) == before
    assert [name for _, name in site.s3.writes] == [f"staging/_state/adopted/{adoptions(site)[0].id}.json"]
    [adoption] = adoptions(site)
    found = {file.key: file for file in adoption.files}[OLD]
    assert found.digest == site.s3.public.digests()[OLD]
    assert (found.size, found.content_type, found.cache_control) == (3, "application/gzip", "max-age=60")
    assert found.version_id == before[OLD][0]
    assert adoption.who.endswith("user/rm")


def test_a_store_that_knows_a_digest_is_believed_and_bytes_are_read_where_it_does_not() -> None:
    site = a_tree()
    site.s3.public.store(NOTES, b"notes", PLAIN, whole=False)
    streamed: list[str] = []
    site.s3.before = lambda request, key: streamed.append(key) if request == "stream" else None

    outcome = run(site)

    assert streamed == [NOTES]
    assert outcome.streamed == 5


def test_a_dry_run_says_the_same_reads_no_bytes_and_writes_nothing(tmp_path: Path) -> None:
    site = a_tree(whole=False)
    links = a_list(tmp_path, "old -> 0.9")
    streamed: list[str] = []
    site.s3.before = lambda request, key: streamed.append(key) if request in {"stream", "read"} else None

    planned = run(site, "tool", links, dry_run=True)

    assert site.s3.writes == []
    assert not [key for key in streamed if key in {OLD, NOTES}]
    done = run(site, "tool", links)
    assert replace(planned, dry_run=False) == replace(done, files=planned.files)
    assert sorted(planned.files) == sorted(done.files)
    assert planned.aliases == ("tool/old",)


def test_an_audit_watches_what_was_adopted() -> None:
    site = a_tree(whole=False)
    [note] = audit.run(site.world(), (), deep=False).faults
    assert (note.weight, note.rule) == (Weight.NOTE, "older")

    run(site)
    assert audit.run(site.world(), (), deep=True).faults == ()

    site.s3.public.store(OLD, b"other", TGZ_TYPE)
    [fault] = audit.run(site.world(), (), deep=False).faults
    assert (fault.weight, fault.rule, fault.subject) == (Weight.FAULT, "drift", OLD)


def test_a_second_run_has_nothing_to_do() -> None:
    site = a_tree(whole=False)
    run(site)
    site.s3.writes.clear()
    looked: list[str] = []
    site.s3.before = lambda request, key: looked.append(request)

    outcome = run(site)

    assert (outcome.files, outcome.already, outcome.status) == ((), 2, Exit.DONE)
    assert site.s3.writes == []
    assert "describe" not in looked


def test_what_was_added_since_is_adopted_alone() -> None:
    site = a_tree()
    run(site)
    late = "tool/0.9/late.txt"
    site.s3.public.store(late, b"late", PLAIN)

    outcome = run(site, "tool")

    assert (outcome.files, outcome.already) == ((late,), 2)
    assert len(adoptions(site)) == 2


def test_other_bytes_at_an_adopted_key_are_refused_and_not_adopted() -> None:
    site = a_tree()
    run(site)
    site.s3.public.store(OLD, b"other", TGZ_TYPE)

    outcome = run(site)

    assert rules(outcome) == [(Weight.FAULT, "drift", OLD)]
    assert (outcome.files, outcome.status) == ((), Exit.REFUSED)
    assert len(adoptions(site)) == 1


def test_the_same_bytes_written_again_are_adopted_again() -> None:
    site = a_tree()
    run(site)
    site.s3.public.store(OLD, b"old", TGZ_TYPE, whole=False)

    outcome = run(site)

    assert (outcome.files, outcome.already, outcome.faults) == ((OLD,), 1, ())
    streamed: list[str] = []
    site.s3.before = lambda request, key: streamed.append(key) if request == "stream" else None
    assert audit.run(site.world(), (), deep=False).faults == ()
    assert streamed == []


@pytest.mark.parametrize(
    ("metadata", "when"),
    [
        ({"mtime": "1467132163.25"}, datetime(2016, 6, 28, 16, 42, 43, tzinfo=UTC)),
        ({"original-date": "2003-05-01T10:00:00+02:00"}, datetime(2003, 5, 1, 8, tzinfo=UTC)),
        ({"mtime": "yesterday"}, None),
        ({"original-date": "yesterday"}, None),
        ({"mtime": "1e99"}, None),
        ({}, None),
    ],
)
def test_the_date_of_the_file_that_an_object_was_made_from_is_kept(
    metadata: dict[str, str], when: datetime | None
) -> None:
    site = a_tree()
    stored = site.s3.public.current(OLD)
    assert stored
    site.s3.public.versions[OLD] = [replace(stored, metadata=metadata)]

    run(site)

    assert {file.key: file.original for file in adoptions(site)[0].files}[OLD] == when


def test_another_media_type_is_told_and_adopted_all_the_same() -> None:
    site = a_tree()
    site.s3.public.store(OLD, b"old", Delivery("binary/octet-stream", "", ""))

    outcome = run(site)

    assert rules(outcome) == [(Weight.WARNING, "content-type", OLD)]
    assert (outcome.faults[0].found, outcome.faults[0].expected) == (
        "binary/octet-stream",
        "application/gzip, by the profile",
    )
    assert (sorted(outcome.files), outcome.status) == (sorted([OLD, NOTES]), Exit.DONE)


@pytest.mark.parametrize(
    "key",
    [
        "tool/0.9/a b.txt",
        "tool/0.9/~x",
        "tool/0.9//x",
        "tool/0.9/caf\u00e9",
        "tool/0.9/x/../y",
        "tool/0.9/x/",
    ],
)
def test_a_key_that_may_not_be_public_is_told_and_left_alone(key: str) -> None:
    site = a_tree()
    site.s3.public.store(key, b"x", PLAIN)

    outcome = run(site)

    assert rules(outcome) == [(Weight.FAULT, "key", key)]
    assert (sorted(outcome.files), outcome.status) == (sorted([OLD, NOTES]), Exit.REFUSED)


def test_names_that_differ_in_case_or_are_each_others_folders_are_left_alone() -> None:
    site = a_tree()
    for key in ("tool/0.9/Notes+More.txt", f"{OLD}/x"):
        site.s3.public.store(key, b"x", TGZ_TYPE)

    outcome = run(site)

    assert {subject for _, _, subject in rules(outcome)} == {
        NOTES, "tool/0.9/Notes+More.txt", OLD, f"{OLD}/x",
    }  # fmt: skip
    assert (outcome.files, outcome.status) == ((), Exit.REFUSED)
    assert adoptions(site) == []


def test_the_names_that_a_tree_may_have_are_adopted() -> None:
    site = Site()
    names = [
        f"python/{name}" for name in ("2.0/src/PyWin-2.0_b1+fix.tar.gz", "README", ".htaccess", "a/b/c/d/e")
    ]
    for key in names:
        site.s3.public.store(key, key.encode(), PLAIN)

    outcome = run(site, "./python/")

    assert (outcome.prefix, sorted(outcome.files), outcome.status) == ("python", sorted(names), Exit.DONE)


def test_what_was_promoted_is_looked_after_already() -> None:
    site = a_tree()
    site.open()
    site.stage_all()
    site.promote()
    site.s3.public.store("_site/404.html", b"fixed")
    site.s3.public.store("tool/releases.json", b"{}")
    site.s3.public.store("releases.json", b"{}")

    outcome = run(site, ".")

    assert sorted(outcome.files) == sorted([OLD, NOTES, "tool/releases.json"])
    assert outcome.prefix == ""


def test_what_is_being_promoted_is_not_adopted() -> None:
    site = a_tree()
    site.open()
    site.stage_all()

    def before(request: str, key: str) -> None:
        if request == "head":
            raise CrashError

    site.s3.before = before
    with pytest.raises(CrashError):
        site.promote()
    site.s3.before = lambda request, key: None
    assert {TGZ, PKG} <= site.public().keys()

    assert sorted(run(site, "tool").files) == sorted([OLD, NOTES])


def test_an_index_page_of_somebody_else_is_a_file_like_any_other() -> None:
    site = a_tree()
    page = "tool/0.9/index.html"
    site.s3.public.store(page, b"<title>made by hand</title>", PLAIN)

    assert page in run(site).files


@pytest.mark.parametrize("prefix", ["tool/0.8", "tool/0", "_pending"])
def test_a_folder_with_nothing_in_it_is_misuse(prefix: str) -> None:
    with pytest.raises(UsageError, match="nothing to adopt"):
        run(a_tree(), prefix)


def test_two_thousand_files_are_written_down_in_parts_with_two_requests_each() -> None:
    site = Site()
    for number in range(2 * MAX_FILES):
        site.s3.public.store(f"tool/old/{number}", b"x", PLAIN, whole=False)
    requests: list[str] = []
    site.s3.before = lambda request, key: requests.append(request)

    outcome = run(site, "tool")

    assert len(outcome.files) == 2 * MAX_FILES
    assert [len(adoption.files) for adoption in adoptions(site)] == [MAX_FILES, MAX_FILES]
    assert len(requests) < 4 * MAX_FILES + 30


def test_files_that_have_to_be_read_are_written_down_more_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("publisher.core.adoption.MAX_STREAMED", 4)
    site = a_tree(whole=False)

    run(site)

    assert len(adoptions(site)) == 2


# --- Interruptions ---------------------------------------------------------------------------------------


def count_requests(tree: Callable[[], Site], links: Path) -> int:
    site = tree()
    seen: list[str] = []
    site.s3.before = lambda request, key: seen.append(request)
    run(site, "tool", links)
    return len(seen)


def test_a_run_that_dies_at_any_request_is_gone_on_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("publisher.core.adoption.MAX_FILES", 1)
    links = a_list(tmp_path, "old -> 0.9", "older -> 0.9")
    whole = a_tree(whole=False)
    run(whole, "tool", links)
    requests = count_requests(lambda: a_tree(whole=False), links)
    assert requests > 20

    for last in range(requests):
        site = a_tree(whole=False)
        left = [last]

        def before(request: str, key: str, left: list[int] = left) -> None:
            if not left[0]:
                raise CrashError
            left[0] -= 1

        site.s3.before = before
        with pytest.raises(CrashError):
            run(site, "tool", links)
        site.s3.before = lambda request, key: None
        site.s3.tick(600)

        assert run(site, "tool", links).status is Exit.DONE

        keys = sorted(file.key for adoption in adoptions(site) for file in adoption.files)
        assert keys == sorted([OLD, NOTES]), last
        shown = {key: value for key, value in site.s3.gate.entries.items() if key != OWNER}
        assert shown == {"a:tool/old": "tool/0.9", "a:tool/older": "tool/0.9"}
        assert audit.run(site.world(), (), deep=False).faults == ()


def test_a_write_whose_answer_was_lost_is_no_second_adoption() -> None:
    site = a_tree()
    site.s3.lose_answer_of = 0

    assert run(site).status is Exit.DONE
    assert len(adoptions(site)) == 1


def test_an_adoption_that_is_somebody_elses_is_not_taken_for_ones_own() -> None:
    site = a_tree()
    run(site)
    world = replace(site.world(), new_id=lambda: adoptions(site)[0].id)
    site.s3.public.store("tool/0.9/late", b"x")

    with pytest.raises(StoreError):
        adopt.run(world, AdoptRequest("tool/0.9", None, dry_run=False))


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"predicateType": "x", "predicate": {}}'])
def test_an_adoption_that_cannot_be_read_stops_the_next(data: bytes) -> None:
    site = a_tree()
    site.s3.staging.store("_state/adopted/1.json", data)

    with pytest.raises(StoreError, match=r"_state/adopted/1\.json"):
        run(site)


def test_an_adoption_whose_subjects_are_not_its_files_is_not_believed() -> None:
    site = a_tree()
    run(site)
    [key] = site.state("/adopted/")
    version = site.s3.staging.current(key)
    assert version
    statement = json.loads(version.data or b"")
    statement["subject"][0]["digest"]["sha256"] = "0" * 64
    site.s3.staging.store(key, json.dumps(statement).encode())

    with pytest.raises(StoreError, match="other subjects"):
        run(site)


# --- Links -----------------------------------------------------------------------------------------------


def test_links_to_folders_and_files_become_aliases_on_record(tmp_path: Path) -> None:
    site = a_tree()

    outcome = run(site, "tool", a_list(tmp_path, "current -> 0.9", "latest.tgz -> ./0.9/tool-0.9.tgz"))

    assert outcome.aliases == ("tool/current", "tool/latest.tgz")
    assert site.s3.gate.entries["a:tool/current"] == "tool/0.9"
    assert site.s3.gate.entries["a:tool/latest.tgz"] == OLD
    assert [dict(found.aliases) for found in adoptions(site) if found.aliases] == [
        {"tool/current": "tool/0.9", "tool/latest.tgz": OLD}
    ]
    assert audit.run(site.world(), (), deep=False).faults == ()


def test_a_link_that_cannot_be_an_alias_is_told(tmp_path: Path) -> None:
    site = a_tree()

    outcome = run(site, "tool", a_list(tmp_path, "good -> 0.9", "bad -> /srv/0.9"))

    assert rules(outcome) == [(Weight.FAULT, "link", "tool/bad")]
    assert (outcome.aliases, outcome.status) == (("tool/good",), Exit.REFUSED)


def test_an_alias_that_is_there_with_another_target_stays(tmp_path: Path) -> None:
    site = a_tree()
    site.s3.gate.set({"a:tool/current": "tool/1.0"})

    outcome = run(site, "tool", a_list(tmp_path, "current -> 0.9"))

    assert rules(outcome) == [(Weight.FAULT, "link", "tool/current")]
    assert site.s3.gate.entries["a:tool/current"] == "tool/1.0"


def test_links_are_written_while_nobody_else_promotes_and_files_at_any_time(tmp_path: Path) -> None:
    site = a_tree()
    lease = Lease(1, "x" * 32, "somebody", "promote 1.2.3", 120)
    site.s3.staging.store(LEASE, encode(lease))

    with pytest.raises(LeaseError, match="somebody"):
        run(site, "tool", a_list(tmp_path, "current -> 0.9"))

    assert len(adoptions(site)) == 1
    site.s3.tick(600)
    assert run(site, "tool", a_list(tmp_path, "current -> 0.9")).aliases == ("tool/current",)


def test_a_gate_that_fails_half_way_is_unfinished(tmp_path: Path) -> None:
    site = a_tree()

    def before(request: str, key: str) -> None:
        if request == "update" and "a:tool" in key:
            raise StoreError("no answer")

    site.s3.before = before
    links = a_list(tmp_path, "current -> 0.9")
    with pytest.raises(UnfinishedError, match="others not: no answer"):
        run(site, "tool", links)
    site.s3.before = lambda request, key: None

    assert run(site, "tool", links).aliases == ("tool/current",)
    assert run(site, "tool", links).aliases == ()


def test_a_file_of_links_that_cannot_be_read_is_misuse(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        run(a_tree(), "tool", tmp_path / "none")
    (tmp_path / "latin").write_bytes(b"\xe9 -> x\n")
    with pytest.raises(UsageError, match="cannot read"):
        run(a_tree(), "tool", tmp_path / "latin")


def test_a_release_is_opened_and_promoted_beside_what_was_adopted() -> None:
    site = a_tree()
    run(site)
    site.open(RELEASE, COMMIT)
    site.stage_all()
    site.promote()
    site.s3.public.expire("_pending/")

    assert audit.run(site.world(), (), deep=False).faults == ()


# --- What people see -------------------------------------------------------------------------------------


def invoke(site: Site, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    status = cli.run(["adopt", *words], Settings(connect=lambda _: site.world()))
    return status, capsys.readouterr().out


def test_people_see_what_a_dry_run_would_adopt_and_then_what_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = a_tree(whole=False)
    links = str(a_list(tmp_path, "old -> 0.9"))

    assert invoke(site, capsys, "tool", "--symlinks", links, "--dry-run") == (
        0,
        (
            "would adopt 2 files, 8 bytes, of tool; 0 adopted before\n"
            "  8 bytes to be read: the store holds no digest of them\n"
            "  aliases  tool/old\n"
        ),
    )
    assert invoke(site, capsys, "tool", "--symlinks", links) == (
        0,
        (
            "adopted 2 files, 8 bytes, of tool; 0 adopted before\n"
            "  8 bytes read: the store holds no digest of them\n"
            "  aliases  tool/old\n"
            "  next     publisher audit\n"
        ),
    )
    assert invoke(site, capsys, ".") == (
        0,
        "adopted 0 files, 0 bytes, of the whole site; 2 adopted before\n  next     publisher audit\n",
    )


def test_automation_gets_all_of_it_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    site = a_tree()
    site.s3.public.store("tool/0.9/a b", b"x", PLAIN)

    status, out = invoke(site, capsys, "tool/0.9", "--json")

    answer = json.loads(out)
    assert (status, answer["exit"], answer["result"], answer["dry_run"]) == (3, 3, "adopted", False)
    assert (answer["prefix"], sorted(answer["files"])) == ("tool/0.9", sorted([OLD, NOTES]))
    assert (answer["bytes"], answer["bytes_read"], answer["already"], answer["aliases"]) == (8, 0, 0, [])
    assert [(fault["weight"], fault["rule"]) for fault in answer["faults"]] == [("fault", "key")]
