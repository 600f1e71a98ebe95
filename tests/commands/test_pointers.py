"""`publisher pointers`: sets of releases that are public are swapped alone; all else stays as it is."""

import json
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from publisher import cli
from publisher.commands import pointers, upload
from publisher.commands.pointers import PointersRequest
from publisher.commands.upload import UploadRequest
from publisher.core.pointers import NAME
from publisher.core.pointers_swap import Verdict
from publisher.core.refusals import Waiver
from publisher.errors import Exit
from publisher.outcomes import Outcome, Planned, Promoted, Refused, Uploaded
from publisher.settings import Settings
from tests.support.fakes import FakeBucket
from tests.support.pointers import CATALOG, INDEX, MUTABLE, digest_set, make_set, served_set, stage_set
from tests.support.site import COMMIT, OTHER_COMMIT, RELEASE, TGZ, Site, expected_public, say_yes

SUMS = f"linux/{RELEASE}/SHA256SUMS"


class CrashError(BaseException):
    """The process is gone."""


def a_site(*, public: bool = True) -> Site:
    """Make a site with a release that is public, and has staged a set since."""
    site = Site(profile_text=MUTABLE)
    site.open()
    site.stage_all()
    if public:
        site.promote()
    stage_set(site, "v1", None)
    site.s3.writes.clear()
    site.observer.steps.clear()
    return site


def run(site: Site, *waivers: Waiver, dry_run: bool = False, plan: str | None = None) -> Outcome:
    return pointers.run(site.world(), PointersRequest((RELEASE,), waivers, plan, dry_run), say_yes)


def list_refusals(outcome: Outcome) -> list[tuple[str, str]]:
    assert isinstance(outcome, Refused), outcome
    return [(refusal.rule, refusal.subject) for refusal in outcome.refusals]


def test_a_set_is_swapped_alone_and_recorded() -> None:
    site = a_site()

    outcome = run(site)

    assert isinstance(outcome, Promoted)
    assert outcome.plan is not None
    assert outcome.plan.files == ()
    assert [ended.state for ended in outcome.swapped] == [Verdict.DONE]
    assert served_set(site) == digest_set("v1")
    assert list(site.stored_records()) == [f"{RELEASE}/1", f"{RELEASE}/2"]
    assert site.public_records() == site.stored_records()
    assert set(site.s3.gate.entries) == {"owner", "a:current"}
    placed = {name for request, name in site.s3.writes if request == "place"}
    assert placed == set()


def test_nothing_is_left_to_do_a_second_time() -> None:
    site = a_site()
    run(site)
    site.s3.writes.clear()

    outcome = run(site)

    assert isinstance(outcome, Promoted)
    assert outcome.plan is None
    assert site.s3.writes == []


def test_a_release_that_is_not_public_has_no_sets_to_swap() -> None:
    site = a_site(public=False)

    assert list_refusals(run(site)) == [("pointer", f"index/{RELEASE}")]
    assert site.s3.writes == []


def test_a_late_file_beside_the_set_is_left_for_promote() -> None:
    site = a_site()
    site.stage("linux", {f"{TGZ}.spdx.json": b"{}"})
    site.hand_over("linux")

    assert isinstance(run(site), Promoted)
    assert served_set(site) == digest_set("v1")
    assert set(site.public()) == {*expected_public(), CATALOG, INDEX}
    # Nothing of sets is left: promote has the rest.
    outcome = run(site)
    assert isinstance(outcome, Promoted)
    assert outcome.plan is None
    assert isinstance(site.promote(), Promoted)
    assert f"{TGZ}.spdx.json" in site.public()


def test_a_set_that_links_to_a_late_file_is_refused() -> None:
    site = a_site()
    site.stage("linux", {f"{TGZ}.spdx.json": b"{}"})
    stage_set(site, "v2", None, f"https://dl.example.org/{TGZ}.spdx.json")

    assert list_refusals(run(site)) == [("pointer", f"index/{RELEASE}")]


def hold_it(site: Site) -> None:
    site.s3.staging.store(f"_hold/qa/{RELEASE}", b"wait")


def hand_over_another_commit(site: Site) -> None:
    site.hand_over("linux", commit=OTHER_COMMIT)


def change_it(site: Site) -> None:
    site.stage("linux", {INDEX: b"{}"})


def take_back_the_hand_over(site: Site) -> None:
    site.s3.staging.expire(SUMS)


@pytest.mark.parametrize(
    ("act", "rule", "subject"),
    [
        (hold_it, "hold", f"qa/{RELEASE}"),
        (hand_over_another_commit, "commit", f"linux/{RELEASE}"),
        (change_it, "digest", INDEX),
        (take_back_the_hand_over, "missing", f"linux/{RELEASE}"),
    ],
)
def test_what_stands_in_the_way_of_the_set_counts_as_ever(
    act: Callable[[Site], None], rule: str, subject: str
) -> None:
    site = a_site()
    act(site)
    site.s3.writes.clear()

    assert (rule, subject) in list_refusals(run(site))
    assert site.s3.writes == []


def test_what_another_role_owes_does_not_count() -> None:
    site = a_site()
    site.stage("mac", {"tool/1.2.3/unknown.bin": b"x"})
    assert isinstance(site.promote(), Refused)

    assert isinstance(run(site), Promoted)


def test_a_hold_can_be_waived_and_goes_on_record() -> None:
    site = a_site()
    hold_it(site)

    outcome = run(site, Waiver("hold", f"qa/{RELEASE}", "it is about the installer"))

    assert isinstance(outcome, Promoted)
    assert outcome.plan is not None
    assert [refusal.rule for refusal in outcome.plan.waived] == ["hold"]


def test_a_set_that_is_refused_and_waived_leaves_nothing_to_do() -> None:
    site = a_site()
    stage_set(site, "v2", "v1")

    outcome = run(site, Waiver("pointer", f"index/{RELEASE}", "never mind"))

    assert isinstance(outcome, Promoted)
    assert outcome.plan is None


def test_a_dry_run_shows_a_plan_that_can_be_pinned() -> None:
    site = a_site()

    planned = run(site, dry_run=True)

    assert isinstance(planned, Planned)
    assert planned.command == "pointers"
    assert planned.decision is not None
    assert site.s3.writes == []
    digest = planned.decision.plan.digest
    stage_set(site, "v2", None)
    assert list_refusals(run(site, plan=digest)) == [("plan", digest)]
    stage_set(site, "v1", None)
    assert isinstance(run(site), Promoted)


def test_an_interrupted_swap_is_finished_by_running_again() -> None:
    site = a_site()

    def die(request: str, key: str) -> None:
        if (request, key) == ("create", INDEX):
            raise CrashError

    site.s3.before = die
    with pytest.raises(CrashError):
        run(site)
    assert served_set(site) == {**digest_set("v1"), INDEX: None}
    site.s3.before = lambda request, key: None
    site.s3.tick(121)

    outcome = run(site)

    assert isinstance(outcome, Promoted)
    assert len(outcome.finished) == 1
    assert served_set(site) == digest_set("v1")


def test_a_superseded_set_is_recorded_though_it_placed_nothing() -> None:
    site = a_site()

    def meddle(request: str, key: str) -> None:
        if (request, key) == ("create", CATALOG):
            store_theirs(site.s3.public)

    site.s3.before = meddle
    outcome = run(site)

    assert isinstance(outcome, Promoted)
    assert [ended.state for ended in outcome.swapped] == [Verdict.SUPERSEDED]
    assert site.public_records() == site.stored_records()


def store_theirs(public: FakeBucket) -> None:
    for key, data in make_set("theirs").items():
        public.store(key, data)


# --- Staging with `publisher upload` ------------------------------------------------------------------------


def upload_set(site: Site, folder: Path, *names: str, prune: bool = False) -> Outcome:
    """Upload and hand over the archive with those files of a set, from a folder."""
    texts = {**make_set("v1"), NAME: b'{"schema": 1, "sets": {}}', "COMMIT": COMMIT.encode()}
    for key in (TGZ, *names):
        path = folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(texts.get(key, b"first"))
    request = UploadRequest(RELEASE, "linux", (str(folder),), COMMIT, complete=True, prune=prune)
    return upload.run(site.world(), request)


def test_a_set_is_handed_over_with_what_it_was_built_from(tmp_path: Path) -> None:
    site = Site(profile_text=MUTABLE)

    outcome = upload_set(site, tmp_path, CATALOG, INDEX, NAME)

    assert isinstance(outcome, Uploaded)
    assert set(outcome.uploaded) == {TGZ, CATALOG, INDEX}
    staged = site.s3.staging.digests(f"linux/{RELEASE}/")
    assert {key.removeprefix(f"linux/{RELEASE}/") for key in staged} == {
        *(TGZ, CATALOG, INDEX, NAME),
        *("COMMIT", "SHA256SUMS"),
    }
    sums = site.s3.staging.current(SUMS)
    assert sums is not None
    assert f"{staged[f'linux/{RELEASE}/{NAME}']}  {NAME}\n".encode() in (sums.data or b"")


def test_what_an_earlier_upload_said_of_sets_does_not_stay_unless_it_is_given_again(tmp_path: Path) -> None:
    site = Site(profile_text=MUTABLE)
    upload_set(site, tmp_path / "first", CATALOG, INDEX, NAME)

    refused = upload_set(site, tmp_path / "second", CATALOG, INDEX)

    assert list_refusals(refused) == [("extra", NAME)]
    assert isinstance(upload_set(site, tmp_path / "second", CATALOG, INDEX, prune=True), Uploaded)
    assert site.s3.staging.current(f"linux/{RELEASE}/{NAME}") is None


def test_a_role_without_sets_has_nothing_to_say_of_them(tmp_path: Path) -> None:
    site = Site()

    assert list_refusals(upload_set(site, tmp_path, NAME)) == [("extra", NAME)]


# --- The command line ---------------------------------------------------------------------------------------


def call(site: Site, line: str) -> int:
    settings = Settings(connect=lambda used: replace(site.world(), observer=used.make_output()))
    return cli.run(shlex.split(line), settings)


def test_the_plan_and_the_answer_name_the_set(capsys: pytest.CaptureFixture[str]) -> None:
    site = a_site()

    assert call(site, f"pointers {RELEASE} -n") == Exit.DONE
    shown = capsys.readouterr().out
    assert f"swap   index, 2 files, as of {RELEASE}" in shown
    assert "create" not in shown
    assert f"next: publisher pointers {RELEASE} --plan sha256:" in shown
    assert call(site, f"pointers {RELEASE} --yes") == Exit.DONE
    assert f"pointers  index: swapped for that of {RELEASE}" in capsys.readouterr().out


def test_the_json_answer_has_every_digest(capsys: pytest.CaptureFixture[str]) -> None:
    site = a_site()

    assert call(site, f"pointers {RELEASE} --yes --json") == Exit.DONE

    answer = json.loads(capsys.readouterr().out)
    assert (answer["command"], answer["result"]) == ("pointers", "promoted")
    new = digest_set("v1")
    files = [{"key": key, "from": None, "to": new[key]} for key in (CATALOG, INDEX)]
    assert answer["pointers"] == [{"set": "index", "releases": [RELEASE], "files": files}]
    assert answer["swapped"] == [{"set": "index", "state": "done", "superseded": [], "left_behind": []}]


def test_a_refusal_shows_how_to_waive_it(capsys: pytest.CaptureFixture[str]) -> None:
    site = a_site()
    stage_set(site, "v2", "v1")

    assert call(site, f"pointers {RELEASE} --yes") == Exit.REFUSED
    assert f"--waive pointer:index/{RELEASE}" in capsys.readouterr().out
    assert call(site, f"pointers {RELEASE} --yes --waive pointer:index/{RELEASE} --reason later") == Exit.DONE


@pytest.mark.parametrize(
    ("mixed", "words"), [(False, "superseded by somebody else; rebuild"), (True, "NOT WHOLE, from here are")]
)
def test_a_set_that_ended_otherwise_is_shown(
    capsys: pytest.CaptureFixture[str], words: str, *, mixed: bool
) -> None:
    site = a_site()

    def meddle(request: str, key: str) -> None:
        if (request, key) == ("create", INDEX if mixed else CATALOG):
            site.s3.public.store(key, b"{}")

    site.s3.before = meddle

    assert call(site, f"pointers {RELEASE} --yes") == Exit.DONE
    streams = capsys.readouterr()
    assert words in streams.out
    assert "superseded" in streams.err


def test_a_set_whose_swap_is_given_up_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    site = a_site(public=False)

    assert call(site, f"promote {RELEASE} --yes --give-up pointers --reason later") == Exit.DONE
    streams = capsys.readouterr()
    assert "pointers  index: given up, not swapped" in streams.out
    assert f"alias     current/ to tool/{RELEASE}/" in streams.out
    assert served_set(site) == digest_set(None)


def test_plan_and_status_tell_of_aliases_and_sets(capsys: pytest.CaptureFixture[str]) -> None:
    site = a_site(public=False)

    assert call(site, f"status {RELEASE}") == Exit.DONE
    assert "pointers  index: ready" in capsys.readouterr().out
    assert call(site, f"promote {RELEASE} -n") == Exit.DONE
    shown = capsys.readouterr().out
    assert f"alias  current/ to tool/{RELEASE}/" in shown
    assert f"swap   index, 2 files, as of {RELEASE}" in shown


def test_the_plan_says_why_an_alias_stays(capsys: pytest.CaptureFixture[str]) -> None:
    site = a_site()
    site.open("1.2.2")
    site.stage_all(release="1.2.2")

    assert call(site, "promote 1.2.2 -n") == Exit.DONE
    assert f"alias  current/ stays: it leads to {RELEASE}, which is higher" in capsys.readouterr().out


def test_what_was_said_of_the_set_is_looked_at_again_at_go_live() -> None:
    site = a_site()

    def meddle(request: str, key: str) -> None:
        if request == "copy":
            site.s3.before = lambda request, key: None
            site.s3.staging.store(f"linux/{RELEASE}/{NAME}", b"{}")

    site.s3.before = meddle

    assert list_refusals(run(site)) == [("moved", f"linux/{RELEASE}/{NAME}")]
    assert served_set(site) == digest_set(None)
