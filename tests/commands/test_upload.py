"""Uploading: which file goes where, what stops it, and that a hand-over comes last and says the truth."""

import hashlib
from pathlib import Path

import pytest

from publisher.commands import upload
from publisher.commands.upload import UploadRequest
from publisher.core.delivery import MAX_COPY_BYTES
from publisher.core.refusals import Refusal
from publisher.errors import Exit, StoppedError, StoreError, UsageError
from publisher.outcomes import Outcome, Promoted, Refused, Uploaded
from tests.support.site import COMMIT, OTHER_COMMIT, PKG, PROFILE, RELEASE, TGZ, Site

MORE = rb"""
[[artifact]]
key = "tool/{release}/guide/index.html"
role = "linux"
optional = "release"

[[artifact]]
key = "tool/{release}/api/index.html"
role = "linux"
optional = "release"

[[artifact]]
key = "tool/{release}/preview.txt"
role = "linux"
required = "beta"

[kinds]
beta = { stage = "b1" }
release = {}
"""
GUIDE = f"tool/{RELEASE}/guide/index.html"
API = f"tool/{RELEASE}/api/index.html"
PREVIEW = f"tool/{RELEASE}/preview.txt"
SPDX = f"{TGZ}.spdx.json"
PREFIX = f"linux/{RELEASE}/"


def a_site() -> Site:
    return Site(profile_text=PROFILE + MORE)


def a_folder(folder: Path, *names: str, text: str = "text") -> str:
    """Make a folder with files, each of which holds its own name after `text`."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text} of {name}")
    return str(folder)


def run(
    site: Site,
    *paths: str,
    role: str = "linux",
    release: str = RELEASE,
    commit: str | None = COMMIT,
    complete: bool = False,
    prune: bool = False,
) -> Outcome:
    return upload.run(site.world(), UploadRequest(release, role, paths, commit, complete, prune))


def accepted(outcome: Outcome) -> Uploaded:
    assert isinstance(outcome, Uploaded)
    assert outcome.status is Exit.DONE
    return outcome


def refused(outcome: Outcome, site: Site) -> list[Refusal]:
    """Give the refusals of an outcome, after a look that nothing was written."""
    assert isinstance(outcome, Refused)
    assert outcome.status is Exit.REFUSED
    assert not outcome.waivable
    assert site.s3.writes == []
    assert all(r.found and r.expected and r.cure for r in outcome.refusals)
    return list(outcome.refusals)


def written(site: Site) -> list[str]:
    return [f"{request} {key.removeprefix(f'staging/{PREFIX}')}" for request, key in site.s3.writes]


def listed(site: Site) -> dict[str, str]:
    """Read the hand-over as `sha256sum --check` would."""
    found = site.s3.staging.current(f"{PREFIX}SHA256SUMS")
    assert found is not None
    lines = (found.data or b"").decode().splitlines()
    return {line[66:]: line[:64] for line in lines}


def test_files_of_a_folder_with_whole_keys_go_to_these_keys(tmp_path: Path) -> None:
    site = a_site()

    outcome = accepted(run(site, a_folder(tmp_path, TGZ, SPDX, GUIDE)))

    assert set(outcome.uploaded) == {TGZ, SPDX, GUIDE}
    assert set(site.s3.staging.digests()) == {PREFIX + key for key in (TGZ, SPDX, GUIDE)}


def test_files_of_a_folder_with_the_ends_of_keys_go_to_the_whole_keys(tmp_path: Path) -> None:
    folder = a_folder(tmp_path, f"tool-{RELEASE}.tgz", "guide/index.html", "api/index.html")

    outcome = accepted(run(a_site(), folder))

    assert set(outcome.uploaded) == {TGZ, GUIDE, API}


def test_loose_files_go_where_their_names_say(tmp_path: Path) -> None:
    names = (f"tool-{RELEASE}.tgz", f"tool-{RELEASE}.tgz.spdx.json")
    folder = Path(a_folder(tmp_path, *names))

    outcome = accepted(run(a_site(), *(str(folder / name) for name in names)))

    assert set(outcome.uploaded) == {TGZ, SPDX}
    assert outcome.size == sum((folder / name).stat().st_size for name in names)


def test_a_loose_file_whose_name_means_two_keys_is_refused(tmp_path: Path) -> None:
    site = a_site()
    folder = Path(a_folder(tmp_path, "index.html"))

    (refusal,) = refused(run(site, str(folder / "index.html")), site)

    assert (refusal.rule, refusal.subject) == ("key", "index.html")
    assert GUIDE in refusal.found
    assert API in refusal.found


def test_an_unknown_name_is_refused_with_the_nearest_known_one(tmp_path: Path) -> None:
    site = a_site()

    (refusal,) = refused(run(site, a_folder(tmp_path, f"tool-{RELEASE}.tar.gz")), site)

    assert (refusal.rule, refusal.subject) == ("extra", f"tool-{RELEASE}.tar.gz")
    assert f"did you mean tool-{RELEASE}.tgz?" in refusal.cure


def test_a_file_of_another_role_is_refused_and_its_own_role_may_upload_it(tmp_path: Path) -> None:
    site = a_site()
    folder = a_folder(tmp_path, PKG)

    (refusal,) = refused(run(site, folder), site)

    assert (refusal.rule, refusal.subject) == ("role", PKG)
    assert "mac" in refusal.found
    assert accepted(run(site, folder, role="mac")).uploaded == (PKG,)


def test_a_file_that_this_kind_of_release_does_not_have_is_refused(tmp_path: Path) -> None:
    site = a_site()

    (refusal,) = refused(run(site, a_folder(tmp_path, PREVIEW)), site)

    assert refusal.rule == "extra"
    assert "release of this kind" in refusal.expected


def test_a_file_that_only_this_kind_of_release_has_is_uploaded(tmp_path: Path) -> None:
    outcome = accepted(run(a_site(), a_folder(tmp_path, "preview.txt"), release=f"{RELEASE}b1"))

    assert outcome.uploaded == (f"tool/{RELEASE}b1/preview.txt",)


def test_two_files_for_one_key_are_refused(tmp_path: Path) -> None:
    site = a_site()

    (refusal,) = refused(run(site, a_folder(tmp_path, TGZ, f"tool-{RELEASE}.tgz")), site)

    assert refusal.rule == "key"
    assert TGZ in refusal.found


def test_every_reason_is_given_at_once_and_nothing_is_written(tmp_path: Path) -> None:
    site = a_site()
    site.stage("linux", {GUIDE: b"old"})
    folder = a_folder(tmp_path, TGZ, PKG, "nonsense.bin")

    refusals = refused(run(site, folder, complete=True, prune=False), site)

    assert {r.rule: r.subject for r in refusals if r.subject != GUIDE} == {
        "role": PKG,
        "extra": "nonsense.bin",
    }
    assert GUIDE in {r.subject for r in refusals}


def test_a_file_too_large_for_one_copy_is_refused(tmp_path: Path) -> None:
    site = a_site()
    folder = Path(a_folder(tmp_path, TGZ))
    with (folder / TGZ).open("r+b") as file:
        file.truncate(MAX_COPY_BYTES + 1)

    (refusal,) = refused(run(site, str(folder)), site)

    assert (refusal.rule, refusal.subject) == ("size", TGZ)
    assert "5,368,709,121 bytes" in refusal.found


@pytest.mark.parametrize(
    ("release", "role", "said", "cure"),
    [
        ("nonsense", "linux", "found 'nonsense'", "the whole name has to match"),
        (RELEASE, "linx", "found role 'linx'", "did you mean 'linux'?"),
        (RELEASE, "zzz", "one of linux, mac, qa", "--role NAME"),
        (RELEASE, "qa", "qa tests and delivers nothing", "use the role that built the files"),
    ],
)
def test_a_wrong_release_or_role_is_a_misuse(
    tmp_path: Path, release: str, role: str, said: str, cure: str
) -> None:
    site = a_site()
    with pytest.raises(UsageError) as caught:
        run(site, a_folder(tmp_path, TGZ), release=release, role=role)

    assert said in str(caught.value)
    assert cure in caught.value.next_step
    assert site.s3.writes == []


def test_a_folder_without_artifacts_is_a_misuse_even_if_it_would_prune_everything(tmp_path: Path) -> None:
    site = a_site()
    site.stage("linux", {TGZ: b"old"})
    (tmp_path / "COMMIT").write_text(COMMIT)

    with pytest.raises(UsageError, match="expected artifacts"):
        run(site, str(tmp_path), complete=True, prune=True)
    assert site.s3.writes == []


def test_a_hand_over_is_written_last_and_covers_exactly_the_files_and_the_commit(tmp_path: Path) -> None:
    site = a_site()

    outcome = accepted(run(site, a_folder(tmp_path, TGZ, SPDX), complete=True))

    assert outcome.handed_over
    assert written(site) == [f"upload {TGZ}", f"upload {SPDX}", "put COMMIT", "put SHA256SUMS"]
    expected = {key: hashlib.sha256((tmp_path / key).read_bytes()).hexdigest() for key in (TGZ, SPDX)}
    assert listed(site) == {**expected, "COMMIT": hashlib.sha256(f"{COMMIT}\n".encode()).hexdigest()}


def test_without_complete_nothing_is_handed_over(tmp_path: Path) -> None:
    site = a_site()

    outcome = accepted(run(site, a_folder(tmp_path, TGZ), commit=None))

    assert not outcome.handed_over
    assert written(site) == [f"upload {TGZ}"]


def test_the_commit_may_stand_in_a_file_of_the_folder(tmp_path: Path) -> None:
    site = a_site()
    (tmp_path / "COMMIT").write_bytes(f"{COMMIT.upper()}\r\n".encode())

    accepted(run(site, a_folder(tmp_path, TGZ), commit=None, complete=True))

    stored = site.s3.staging.current(f"{PREFIX}COMMIT")
    assert stored is not None
    assert stored.data == f"{COMMIT}\n".encode()
    assert set(listed(site)) == {TGZ, "COMMIT"}


def test_a_commit_file_and_an_option_that_agree_are_fine(tmp_path: Path) -> None:
    site = a_site()
    (tmp_path / "COMMIT").write_text(COMMIT)

    assert accepted(run(site, a_folder(tmp_path, TGZ), commit=COMMIT, complete=True)).handed_over


@pytest.mark.parametrize(
    ("text", "commit", "said"),
    [
        (f"{OTHER_COMMIT}\n", COMMIT, f"{OTHER_COMMIT}, expected one line with {COMMIT}"),
        (f"{COMMIT}\n{COMMIT}\n", None, "no single line, expected one line with the full commit"),
        ("", COMMIT, "no single line"),
        ("v1.2.3\n", None, "found commit 'v1.2.3', expected all 40"),
    ],
)
def test_a_commit_file_that_is_wrong_or_says_something_else_is_a_misuse(
    tmp_path: Path, text: str, commit: str | None, said: str
) -> None:
    site = a_site()
    (tmp_path / "COMMIT").write_text(text)

    with pytest.raises(UsageError) as caught:
        run(site, a_folder(tmp_path, TGZ), commit=commit, complete=True)
    assert said in str(caught.value)
    assert caught.value.next_step
    assert site.s3.writes == []


def test_a_missing_commit_is_a_misuse_where_the_profile_asks_for_one(tmp_path: Path) -> None:
    site = a_site()

    with pytest.raises(UsageError, match="ties hand-overs to a commit") as caught:
        run(site, a_folder(tmp_path, TGZ), commit=None, complete=True)
    assert "--commit SHA" in caught.value.next_step
    assert site.s3.writes == []


def test_no_commit_is_needed_where_the_profile_asks_for_none(tmp_path: Path) -> None:
    site = Site(profile_text=PROFILE.replace(b"commit = true", b"commit = false"))

    accepted(run(site, a_folder(tmp_path, TGZ), commit=None, complete=True))

    assert set(listed(site)) == {TGZ}


def test_a_commit_staged_earlier_is_not_left_out_of_a_hand_over(tmp_path: Path) -> None:
    site = Site(profile_text=PROFILE.replace(b"commit = true", b"commit = false"))
    site.stage("linux", {"COMMIT": b"old"})

    (refusal,) = refused(run(site, a_folder(tmp_path, TGZ), commit=None, complete=True), site)

    assert refusal.rule == "commit"
    assert accepted(run(site, str(tmp_path), commit=COMMIT, complete=True)).handed_over


def test_a_sums_file_of_the_builder_is_replaced_by_one_with_whole_keys(tmp_path: Path) -> None:
    site = a_site()
    (tmp_path / "SHA256SUMS").write_text("made by hand")

    accepted(run(site, a_folder(tmp_path, f"tool-{RELEASE}.tgz"), complete=True))

    assert set(listed(site)) == {TGZ, "COMMIT"}


def test_what_is_staged_with_the_same_digest_is_skipped(tmp_path: Path) -> None:
    site = a_site()
    folder = a_folder(tmp_path, TGZ, SPDX)
    run(site, folder)
    site.s3.writes.clear()

    outcome = accepted(run(site, folder))

    assert outcome.uploaded == ()
    assert set(outcome.skipped) == {TGZ, SPDX}
    assert outcome.size == 0
    assert site.s3.writes == []


def test_what_is_staged_with_another_digest_is_uploaded_again(tmp_path: Path) -> None:
    site = a_site()
    run(site, a_folder(tmp_path, TGZ, SPDX))
    (tmp_path / TGZ).write_text("second")

    outcome = accepted(run(site, str(tmp_path)))

    assert outcome.uploaded == (TGZ,)
    assert outcome.skipped == (SPDX,)
    assert site.s3.staging.digests()[PREFIX + TGZ] == hashlib.sha256(b"second").hexdigest()


def test_what_is_staged_without_a_digest_of_the_whole_file_is_uploaded_again(tmp_path: Path) -> None:
    site = a_site()
    folder = Path(a_folder(tmp_path, TGZ))
    site.s3.staging.store(PREFIX + TGZ, (folder / TGZ).read_bytes(), whole=False)

    assert accepted(run(site, str(folder))).uploaded == (TGZ,)


def test_a_file_staged_earlier_and_not_given_now_blocks_the_hand_over(tmp_path: Path) -> None:
    site = a_site()
    site.stage("linux", {GUIDE: b"old"})

    (refusal,) = refused(run(site, a_folder(tmp_path, TGZ), complete=True), site)

    assert (refusal.rule, refusal.subject) == ("extra", GUIDE)
    assert "--prune" in refusal.cure


def test_a_file_staged_earlier_is_left_alone_by_an_upload_that_hands_nothing_over(tmp_path: Path) -> None:
    site = a_site()
    site.stage("linux", {GUIDE: b"old"})

    assert accepted(run(site, a_folder(tmp_path, TGZ))).pruned == ()
    assert PREFIX + GUIDE in site.s3.staging.digests()


def test_pruning_marks_what_is_not_given_deleted_and_never_the_hand_over(tmp_path: Path) -> None:
    site = a_site()
    site.stage(
        "linux",
        {GUIDE: b"old", "SHA256SUMS-old": b"", "SHA256SUMS": b"", "SHA256SUMS.asc": b"", "COMMIT": b""},
    )

    outcome = accepted(run(site, a_folder(tmp_path, TGZ), complete=True, prune=True))

    assert set(outcome.pruned) == {GUIDE, "SHA256SUMS-old"}
    assert [entry for entry in written(site) if entry.startswith("delete")] == [
        "delete SHA256SUMS-old",
        f"delete {GUIDE}",
    ]
    assert written(site)[-1] == "put SHA256SUMS"
    assert len(site.s3.staging.versions[PREFIX + GUIDE]) == 2


def test_pruning_without_a_hand_over_touches_neither_sums_nor_commit(tmp_path: Path) -> None:
    site = a_site()
    site.stage("linux", {"junk": b"", "SHA256SUMS": b"", "COMMIT": b""})

    accepted(run(site, a_folder(tmp_path, TGZ), prune=True))

    assert written(site) == [f"upload {TGZ}", "delete junk"]


def test_an_upload_that_broke_off_is_continued(tmp_path: Path) -> None:
    site = a_site()
    folder = a_folder(tmp_path, TGZ, SPDX)

    def fail(request: str, key: str) -> None:
        if request == "upload" and key.endswith(SPDX):
            raise StoreError("the line is dead")

    site.s3.before = fail
    with pytest.raises(StoreError):
        run(site, folder, complete=True)
    assert f"{PREFIX}SHA256SUMS" not in site.s3.staging.digests()
    site.s3.before = lambda request, key: None

    outcome = accepted(run(site, folder, complete=True))

    assert outcome.skipped == (TGZ,)
    assert outcome.uploaded == (SPDX,)
    assert set(listed(site)) == {TGZ, SPDX, "COMMIT"}


@pytest.mark.parametrize(("wanted", "done"), [(TGZ, 0), (SPDX, 1), ("COMMIT", 2), ("SHA256SUMS", 2)])
def test_an_interruption_says_how_many_files_are_staged(tmp_path: Path, wanted: str, done: int) -> None:
    site = a_site()

    def stop(request: str, key: str) -> None:
        if request in {"upload", "put"} and key.endswith(wanted):
            raise KeyboardInterrupt

    site.s3.before = stop
    with pytest.raises(StoppedError, match=f"interrupted: {done} of 2 files are staged, and not handed over"):
        run(site, a_folder(tmp_path, TGZ, SPDX), complete=True)


def test_required_files_that_nobody_staged_are_named(tmp_path: Path) -> None:
    site = a_site()

    assert accepted(run(site, a_folder(tmp_path, GUIDE))).missing == (TGZ,)
    assert accepted(run(site, a_folder(tmp_path, TGZ))).missing == ()


def test_a_change_after_a_hand_over_makes_it_stale_and_a_new_one_cures_that(tmp_path: Path) -> None:
    site = a_site()
    folder = a_folder(tmp_path, TGZ)
    assert not accepted(run(site, folder)).stale
    run(site, folder, complete=True)
    assert not accepted(run(site, folder)).stale
    (tmp_path / TGZ).write_text("second")

    assert accepted(run(site, folder)).stale
    assert not accepted(run(site, folder, complete=True)).stale


def test_a_builder_touches_nothing_but_its_own_keys_and_describes_only_listed_ones(tmp_path: Path) -> None:
    site = a_site()
    site.stage("linux", {GUIDE: b"old", TGZ: b"old", "SHA256SUMS": b"", "COMMIT": b""})
    seen: list[tuple[str, str]] = []
    site.s3.before = lambda request, key: seen.append((request, key))

    accepted(run(site, a_folder(tmp_path, TGZ, SPDX), complete=True, prune=True))

    assert {request for request, _ in seen} == {"list", "describe", "upload", "delete", "put"}
    assert [key for _, key in seen if not key.startswith(PREFIX)] == []
    assert [key for request, key in seen if request == "describe"] == [PREFIX + TGZ]


@pytest.mark.parametrize("style", ["{digest}  {name}\n", "{digest} *./{name}\r\n"])
def test_hand_overs_made_by_upload_and_by_sha256sum_are_both_promoted(tmp_path: Path, style: str) -> None:
    site = a_site()
    site.open()
    accepted(run(site, a_folder(tmp_path, TGZ, SPDX), complete=True))
    by_hand = {PKG: b"made on a mac", "COMMIT": f"{COMMIT}\n".encode()}
    lines = [style.format(digest=hashlib.sha256(data).hexdigest(), name=n) for n, data in by_hand.items()]
    site.stage("mac", {**by_hand, "SHA256SUMS": "".join(lines).encode()})

    assert isinstance(site.promote(), Promoted)
    assert set(site.public()) == {TGZ, SPDX, PKG}
