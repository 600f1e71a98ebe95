"""`make demo`: CPython 3.14.0b3 from the first upload to a withdrawal, while bots poll every edge.

Every command is real, in a process of its own, with the session of the role that runs it. The demo fails when
an invariant is broken; its figures go to build/demo.json.
"""

import hashlib
import json
import re
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from urllib.parse import quote, unquote

import requests

from sandbox.figures import (
    Figures,
    count_early,
    find_faults,
    measure_exposure,
    measure_floor,
    measure_going,
    measure_stale,
)
from sandbox.ministack import Ministack, local_config
from sandbox.proofs import measure_verifying
from sandbox.running import Sandbox, run_sandbox
from sandbox.sample import (
    CATALOG,
    INDEX,
    RELEASE,
    SampleFile,
    count_signatures,
    read_inventory,
    write_files,
    write_index,
)
from sandbox.site import PUBLIC, RM, STAGING, Timing
from sandbox.stage import Result, Stage, StoryError
from sandbox.watch import Watch, watch
from sandbox.witness import read_live

ROOT = Path(__file__).parents[1]
PROFILE = ROOT / "profiles" / "cpython.toml"
FIGURES = ROOT / "build" / "demo.json"
FIRST = "1f5d0a1c9e7b3d2a4c6e8f0b1d3a5c7e9f1b2d4a"
SECOND = "9c2e4f6a8b0d1c3e5f7a9b1d2c4e6f8a0b3d5c7e"
INSTALLER = "python/3.14.0/python-3.14.0b3-amd64.exe"
SIGNATURES = (".sigstore", ".sig", ".crt")
EARLY = ("source", "windows", "macos")
PROMOTE = ["promote", RELEASE, "--create-release", "--yes"]
PROMOTIONS = 1
ROWS = 13


def main() -> int:
    """Run the demo and give its exit status; `--outer-cache` puts a cache in front of the first edge."""
    try:
        with (
            tempfile.TemporaryDirectory(prefix="demo-") as name,
            run_sandbox(
                Path(name),
                PROFILE,
                timing=Timing(lag=1, settle=2, error_ttl=1),
                outer_cache="--outer-cache" in sys.argv[1:],
            ) as sandbox,
        ):
            figures = play(sandbox, Path(name))
    except StoryError as error:
        print(f"\nthe demo failed: {error}", file=sys.stderr)
        return 1
    FIGURES.parent.mkdir(exist_ok=True)
    FIGURES.write_text(json.dumps(asdict(figures), indent=2) + "\n", "utf-8")
    print(f"\n{json.dumps(asdict(figures))}\nwritten to {FIGURES.relative_to(ROOT)}")
    return 0


def play(sandbox: Sandbox, folder: Path) -> Figures:
    """Play the story, judge what the bots saw, and give its figures.

    Raises:
        StoryError: An invariant is broken, or a command ended otherwise than the story says.
    """
    # Plain `aws s3 cp` goes multipart above 8 MB, and then the store holds no digest of the whole file.
    (folder / "aws.config").write_text("[default]\ns3 =\n  multipart_threshold = 5GB\n", "utf-8")
    stage = Stage(sandbox.site, folder)
    inventory = read_inventory()
    paths = [f"/{quote(file.key)}" for file in inventory]
    sets = [paths, _spell_oddly(paths), _list_folders(paths)]
    stage.tell(
        f"{len(sets) * len(sandbox.urls)} bots poll {len(paths)} URLs of {RELEASE} at every edge from now on."
    )
    with watch(sandbox.urls, sets, folder) as seen:
        # They come by every few seconds, and when something is about to show, without a pause.
        with seen.rest():
            refused = _stage_and_refuse(stage, folder, inventory)
            _respin(stage, folder, inventory)
            _sign(stage)
        promoted = _promote(stage, folder)
        with seen.rest():
            writes = _promote_again(stage, sandbox.site.server)
            verified = _verify_public(stage)
            pages = _look_at_pages(stage, sandbox.urls[0], paths)
            swapped = _look_at_index(stage, sandbox.urls, folder / "second/pymanager")
    # Before all of it is taken out of sight.
    listed = [str(row["url"]) for row in sandbox.site.neighbours.database.tables.files.values()]
    withdrawn = _withdraw(stage, sandbox.urls, paths, folder / "withdrawal")
    sent, answered = read_live(folder / "gate")[0]
    faults = find_faults(seen, paths, sent)
    answer = json.loads(promoted.out)
    database = sandbox.site.neighbours.database
    urls = {f"https://www.python.org/ftp/{file.key}" for file in inventory}
    figures = Figures(
        release=RELEASE,
        objects=answer["written"],
        bytes=answer["bytes"],
        polls=seen.count(),
        early_hits=count_early(seen, sent),
        refused_first=refused,
        exposure_ms=round(1000 * measure_exposure(seen, paths), 1),
        exposure_floor_ms=round(1000 * measure_floor(seen, paths), 1),
        stale_after_live_ms=round(1000 * measure_stale(seen, paths, answered), 1),
        promote_s=round(promoted.end - promoted.start, 2),
        to_public_s=round(answered - promoted.start, 2),
        artifact_bytes_through_publisher=answer["artifact_bytes_through_publisher"],
        second_run_writes=writes,
        digests_verified=_verify(sandbox.site.server, folder / "second", inventory),
        signed=sum(file["key"].endswith(SIGNATURES) for file in answer["files"]),
        verify_cpu_s=round(measure_verifying(sandbox.site, PROFILE, RELEASE), 3),
        record_verified=verified,
        rows_listed=sum(url in urls for url in listed),
        rows_before_live=sum(entry.at < sent for entry in database.writes()),
        announced=len(sandbox.site.neighbours.forum.forum.topics),
        pages=pages,
        withdrawn_ms=round(1000 * withdrawn, 1),
        pointer_swapped=swapped and [ended["state"] for ended in answer["swapped"]] == ["done"],
    )
    wanted = (len(inventory), count_signatures(), ROWS, len({path.rpartition("/")[0] for path in paths}))
    _conclude(stage, figures, [*faults, *figures.find_faults(*wanted)], seen)
    return figures


def _stage_and_refuse(stage: Stage, folder: Path, inventory: Sequence[SampleFile]) -> int:
    """Let three builders deliver and the tester object; give the number of reasons against promoting."""
    stage.tell("The release manager opens the release; three of four builders deliver the first attempt.")
    stage.run(RM, ["publisher", "open", RELEASE, "--commit", FIRST])
    for role in EARLY:
        _build(folder / "first", role, inventory, FIRST)
    stage.run_together([(role, _upload("first", role, FIRST)) for role in EARLY], show=2)
    stage.tell("A tester fetches a staged installer, finds a fault and stops the release.")
    stage.run("qa", ["publisher", "fetch", RELEASE, INSTALLER, "--role", "qa", "--to", "qa"])
    stage.tell(
        "There will be a new commit. To promote now is refused, with everything that stands in the way."
    )
    hold = ["publisher", "hold", RELEASE, "--role", "qa", "--reason", "the 64-bit installer hangs"]
    respin = ["publisher", "respin", RELEASE, "--commit", SECOND, "--reason", "installer hangs"]
    stage.run_together([("qa", hold), (RM, respin)])
    refused = stage.run(RM, ["publisher", *PROMOTE], expect=3, show=40)
    count = re.search(r"refused: (\d+) reasons?", refused.out)
    return int(count[1]) if count else 0


def _respin(stage: Stage, folder: Path, inventory: Sequence[SampleFile]) -> None:
    stage.tell("All build the new commit. One of them has only the AWS CLI and sha256sum.")
    for role in (*EARLY, "pymanager"):
        _build(folder / "second", role, inventory, SECOND)
    write_index(folder / "second/pymanager", [file for file in inventory if file.role == "pymanager"])
    uploads = [(role, _upload("second", role, SECOND)) for role in EARLY]
    stage.run_together([*uploads, ("qa", ["publisher", "unhold", RELEASE, "--role", "qa"])], show=2)
    _upload_by_hand(stage, folder)


def _sign(stage: Stage) -> None:
    """Sign what is to be signed, and verify it."""
    stage.tell("The release manager signs, by digest, with one login; then everything is in place.")
    signed = json.loads(stage.run(RM, ["publisher", "sign", RELEASE, "--json"], show=0).out)
    artifacts = signed["releases"][0]["signed"]
    stage.note(f"{'':12}{len(artifacts)} artifacts have a bundle in the transparency log now")
    looks = (["publisher", "verify", RELEASE], ["publisher", "status", RELEASE, "--check"])
    stage.run_together([(RM, look) for look in looks], show=24)


def _verify_public(stage: Stage) -> bool:
    """Verify, as anybody can, what is public by the signed records."""
    stage.tell("Anybody can verify what is public against the signed records, through the CDN.")
    answer = json.loads(stage.run("qa", ["publisher", "verify", RELEASE, "--public", "--json"], show=0).out)
    stage.note(f"{'':12}{len(answer['files'])} files are what the signed record says")
    return not answer["refusals"] and answer["records"] == PROMOTIONS


def _withdraw(stage: Stage, urls: Sequence[str], paths: Sequence[str], folder: Path) -> float:
    """Withdraw the release, and give the seconds from the first file seen gone to the last one still seen."""
    stage.tell("The way back: one command takes the release out of sight, and it answers 410.")
    folder.mkdir()
    with watch(urls, [paths], folder) as seen:
        reason = ["--reason", "the demo is over", "--confirm", RELEASE]
        stage.run(RM, ["publisher", "withdraw", RELEASE, *reason], show=6)
    return max(measure_going(polls) for polls in seen.polls.values())


def _look_at_pages(stage: Stage, url: str, paths: Sequence[str]) -> int:
    """Open the page of every folder, as a browser does, and count those that name each of their files."""
    folders: dict[str, list[str]] = {}
    for path in paths:
        folder, _, name = unquote(path).rpartition("/")
        folders.setdefault(f"{folder}/", []).append(name)
    good = 0
    for folder, names in folders.items():
        page = requests.get(url.rstrip("/") + folder, timeout=10)
        good += page.status_code == requests.codes.ok and all(f">{name}</a>" in page.text for name in names)
    stage.note(f"{'':12}{good} folders have an index page, such as {min(folders)}")
    return good


def _look_at_index(stage: Stage, urls: Sequence[str], folder: Path) -> bool:
    """Tell whether every edge serves the index of the install manager and its catalog as they were built."""
    served = [
        requests.get(url.rstrip("/") + f"/{key}", timeout=10).content == (folder / key).read_bytes()
        for url in urls
        for key in (CATALOG, INDEX)
    ]
    stage.note(f"{'':12}{sum(served)} of {len(served)} URLs at all edges serve the new Windows index")
    return all(served)


def _promote(stage: Stage, folder: Path) -> Result:
    stage.tell("One command makes it public: copy, list, then one key.")
    promoted = stage.run_live(RM, [*_witness(folder), *PROMOTE, "--json"])
    answer = json.loads(promoted.out)
    stage.note(
        f"{'':12}{answer['written']} files, {answer['bytes']:,} bytes are public; plan {answer['plan'][:19]}…"
    )
    return promoted


def _promote_again(stage: Stage, server: Ministack) -> int:
    """Promote once more, and count what that wrote."""
    before = _count_versions(server)
    stage.run(RM, ["publisher", *PROMOTE])
    return _count_versions(server) - before


def _build(folder: Path, role: str, inventory: Sequence[SampleFile], commit: str) -> None:
    write_files(folder / role, [file for file in inventory if file.role == role], commit)


def _upload(attempt: str, role: str, commit: str) -> list[str]:
    options = ["--role", role, "--commit", commit, "--complete", "--prune"]
    return ["publisher", "upload", RELEASE, f"{attempt}/{role}", *options]


def _upload_by_hand(stage: Stage, folder: Path) -> None:
    """Hand over without the publisher: what any builder's machine has is enough."""
    (folder / "second/pymanager/COMMIT").write_text(f"{SECOND}\n", "utf-8")
    target = f"s3://{STAGING}/pymanager/{RELEASE}/"
    sums = "find . -type f ! -name SHA256SUMS -print0 | sort -z | xargs -0 sha256sum > SHA256SUMS"
    copy = ["aws", "s3", "cp", "--checksum-algorithm", "SHA256", "--only-show-errors"]
    stage.run("pymanager", ["sh", "-c", f"cd second/pymanager && {sums}"])
    stage.run("pymanager", [*copy, "--recursive", "--exclude", "SHA256SUMS", "second/pymanager", target])
    stage.run("pymanager", [*copy, "second/pymanager/SHA256SUMS", f"{target}SHA256SUMS"])


def _witness(folder: Path) -> list[str]:
    """Give the publisher's command under observation: it notes when the gate's key is sent."""
    return [sys.executable, "-m", "sandbox.witness", str(folder / "gate")]


def _spell_oddly(paths: Sequence[str]) -> list[str]:
    """Spell some of the URLs as bots and people do, and as somebody would who looks for a way around."""
    return [
        spelling
        for path in paths[::5]
        for spelling in (
            f"/%70{path[2:]}",
            f"/{path}",
            f"{path}?x=1",
            f"{path}/",
            f"/_pending{path}",
            f"/.{path}",
        )
    ]


def _list_folders(paths: Sequence[str]) -> list[str]:
    return sorted({path.rpartition("/")[0] + "/" for path in paths} | {"/python/", "/python/3.14.0", "/"})


def _count_versions(server: Ministack) -> int:
    """Count every version in both buckets: whatever was written has left one."""
    with closing(
        server.root_session().client("s3", endpoint_url=server.endpoint, config=local_config())
    ) as s3:
        pages = s3.get_paginator("list_object_versions")
        return sum(
            len(page.get("Versions", [])) + len(page.get("DeleteMarkers", []))
            for bucket in (STAGING, PUBLIC)
            for page in pages.paginate(Bucket=bucket)
        )


def _verify(server: Ministack, folder: Path, inventory: Sequence[SampleFile]) -> int:
    """Read every public object and count those whose bytes are the ones that were built."""
    with closing(
        server.root_session().client("s3", endpoint_url=server.endpoint, config=local_config())
    ) as s3:

        def matches(file: SampleFile) -> bool:
            found = s3.get_object(Bucket=PUBLIC, Key=file.key)["Body"].read()
            built = (folder / file.role / file.key).read_bytes()
            return hashlib.sha256(found).digest() == hashlib.sha256(built).digest()

        return sum(matches(file) for file in inventory)


def _conclude(stage: Stage, figures: Figures, faults: Sequence[str], seen: Watch) -> None:
    if faults:
        shown = "\n  ".join(faults[:20])
        raise StoryError(f"{len(faults)} faults:\n  {shown}")
    stage.tell("What the bots saw:")
    stage.note(f"{figures.polls:,} answers of {len(seen.polls)} edges, none of them a file before go-live")
    stage.note(
        f"at each edge all URLs turned public within {figures.exposure_ms:.0f} ms "
        f"(bots that sweep in {figures.exposure_floor_ms:.0f} ms see no less), and none ever blinked"
    )


if __name__ == "__main__":
    sys.exit(main())
