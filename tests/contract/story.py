"""The whole story on the fakes, told by those whose part it is, with every call of a port kept."""

import inspect
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from publisher.commands import adopt, audit, index, promote, sidecars, sign, status, upload, verify
from publisher.commands.adopt import AdoptRequest
from publisher.commands.gate import run_rebuild
from publisher.commands.hold import run_hold, run_unhold
from publisher.commands.open import run_open, run_respin
from publisher.commands.promote import PromoteRequest
from publisher.commands.upload import UploadRequest
from publisher.core.digests import Digest
from publisher.errors import Exit
from publisher.outcomes import Outcome
from publisher.ports import Cdn, Gate, Public, Seen, Staging, Web
from publisher.workflow.world import World
from tests.contract.rights import Asked
from tests.support.fakes import FakeS3
from tests.support.sigstore_fake import sign_openpgp
from tests.support.site import (
    COMMIT,
    KEY,
    OTHER_COMMIT,
    PKG,
    RELEASE,
    SIGNED_PROFILE,
    TGZ,
    Site,
    say_yes,
)

RM = "release-manager"
AUDITOR = "auditor"
LATER = "1.2.4"
SPDX = f"{TGZ}.spdx.json"
ASC = f"{TGZ}.asc"
SIGSTORE = {f"{key}{suffix}" for key in (TGZ, PKG) for suffix in (".sigstore", ".sig", ".crt")}

NO_PAGES = (b"[pages]\nshow = false\n", b"")


class CrashError(BaseException):
    """The process is gone: nothing of it runs any more, no `finally` can write."""


class Watched:
    """A port that keeps each call of it, by which role, before it is served."""

    def __init__(self, port: object, name: str, role: str, kept: list[Asked]) -> None:
        self._port = port
        self._called = name
        self._role = role
        self._kept = kept

    def __getattr__(self, method: str) -> Any:
        found = getattr(self._port, method)
        if not callable(found):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            given = inspect.signature(found).bind(*args, **kwargs).arguments
            # Kept first: a request that fails was made all the same.
            self._kept.append(Asked(self._role, self._called, method, given))
            answer: object = found(*args, **kwargs)
            if answer is None:
                self._kept[-1] = replace(self._kept[-1], absent=True)
            return answer

        return call


class StaleWeb:
    """An edge that remembers a miss of one key until it is told to forget."""

    def __init__(self, s3: FakeS3, key: str) -> None:
        self._s3 = s3
        self._key = key

    def head(self, url: str) -> Seen:
        if url.endswith(self._key) and not self._s3.cdn.invalidated:
            return Seen(404, 0, None)
        return self._s3.web.head(url)

    def read(self, url: str) -> bytes | None:
        return self._s3.web.read(url)

    def compute_digest(self, url: str) -> Digest:
        return self._s3.web.compute_digest(url)


@dataclass
class Story:
    """A site whose ports tell who asked them for what."""

    site: Site = field(default_factory=lambda: Site(profile_text=SIGNED_PROFILE.replace(*NO_PAGES)))
    asked: list[Asked] = field(default_factory=list[Asked])

    def world(self, role: str) -> World:
        """Give `role` its world."""
        world = self.site.world(role)

        def watch(port: object, name: str) -> Any:
            return Watched(port, name, role, self.asked)

        return replace(
            world,
            staging=cast("Staging", watch(world.staging, "staging")),
            public=cast("Public", watch(world.public, "public")),
            gate=cast("Gate", watch(world.gate, "gate")),
            cdn=cast("Cdn", watch(world.cdn, "cdn")),
        )

    def upload(
        self, role: str, folder: Path, files: Sequence[str], release: str = RELEASE, **how: Any
    ) -> None:
        """Let a builder upload the named files, whose bytes follow from their names."""
        for name in files:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(an_sbom(folder.name) if name.endswith(".spdx.json") else f"{folder.name} {name}")
        paths = tuple(str(folder / name) for name in files)
        expect(upload.run(self.world(role), UploadRequest(release, role, paths, **how)))

    def promote(self, *releases: str, web: Web | None = None) -> Outcome:
        world = self.world(RM)
        return promote.run(
            replace(world, web=web) if web else world, PromoteRequest(releases or (RELEASE,)), say_yes
        )

    def crash_at(self, request: str) -> None:
        """Let the release manager's process die just before such a request, twice served before."""
        served = 0

        def before(name: str, _: str) -> None:
            nonlocal served
            served += name == request
            if served == 2:
                raise CrashError

        self.site.s3.before = before
        try:
            self.promote()
        except CrashError:
            self.site.s3.before = lambda name, key: None
            # What the process would have freed expires by itself.
            self.site.s3.tick(600)
        else:
            raise AssertionError(f"nobody asked for {request} twice")


def an_sbom(name: str) -> str:
    """Write an SBOM that says nothing of any digest."""
    head = {"spdxVersion": "SPDX-2.3", "SPDXID": "SPDXRef-DOCUMENT"}
    return json.dumps({**head, "name": name, "packages": []})


def expect(outcome: Outcome, status: Exit = Exit.DONE) -> None:
    """Make sure that the story goes on as it should."""
    assert outcome.status is status, outcome


def tell(folder: Path) -> Story:
    """Tell the story once: every command, by everybody whose command it is."""
    story = Story()
    tgz, pkg = Path(TGZ).name, Path(PKG).name
    expect(run_open(story.world(RM), RELEASE, COMMIT))

    # A first attempt, with a file too many that is pruned, and an upload that is continued.
    story.upload("linux", folder / "one", [tgz, f"{tgz}.spdx.json"])
    story.upload("linux", folder / "one", [tgz], commit=COMMIT, complete=True, prune=True)
    story.site.stage("mac", {f"{PKG}.old": b"by hand"})
    story.upload("mac", folder / "one", [pkg], commit=COMMIT, complete=True, prune=True)
    for role in ("linux", "mac", "qa"):
        expect(run_hold(story.world(role), RELEASE, role, "it does not start"))
    expect(story.promote(), Exit.REFUSED)
    for role in ("linux", "mac", "qa"):
        expect(run_unhold(story.world(role), RELEASE, role))
    for role in (RM, AUDITOR):
        expect(status.run(story.world(role), (), check=False))

    # The second, whose promotion dies before and after it is live, and is finished.
    expect(run_respin(story.world(RM), RELEASE, OTHER_COMMIT, "it does not start"))
    story.upload("linux", folder / "two", [tgz], commit=OTHER_COMMIT, complete=True)
    story.upload("mac", folder / "two", [pkg], commit=OTHER_COMMIT, complete=True)
    expect(sign.run(story.world(RM), (RELEASE,)))
    for role in (RM, AUDITOR):
        expect(verify.run(story.world(role), RELEASE))
    story.crash_at("copy")
    story.crash_at("place")
    expect(run_rebuild(story.world(RM)))
    expect(story.promote())

    # A late file.
    story.upload("linux", folder / "two", [tgz, f"{tgz}.spdx.json"], commit=OTHER_COMMIT, complete=True)
    expect(story.promote())
    assert set(story.site.public()) == {TGZ, PKG, SPDX, *SIGSTORE}

    # A late signature, after the builder's copy of what it signs has expired, and a sidecar repaired.
    story.site.s3.staging.expire(f"linux/{RELEASE}/")
    asc, spdx = folder / Path(ASC).name, folder / Path(SPDX).name
    asc.write_bytes(sign_openpgp(KEY, f"two {tgz}".encode()))
    expect(sidecars.run_attach(story.world(RM), RELEASE, str(asc)))
    expect(story.promote())
    spdx.write_text(an_sbom("repaired"))
    expect(sidecars.run_amend(story.world(RM), RELEASE, str(spdx), "it named another licence"))
    assert set(story.site.public()) == {TGZ, PKG, SPDX, ASC, *SIGSTORE}
    assert set(story.site.public_records()) == {f"{RELEASE}/{number}" for number in range(1, 5)}

    # Another release, staged by other tools (no digest of the whole file), after the loss of the store, and
    # with an edge that does not forget.
    expect(run_open(story.world(RM), LATER, COMMIT))
    story.site.stage_all(release=LATER)
    key = f"tool/{LATER}/tool-{LATER}.tgz"
    stored = story.site.s3.staging.current(f"linux/{LATER}/{key}")
    assert stored
    story.site.s3.staging.store(stored.key, stored.data, whole=False)
    expect(sign.run(story.world(RM), (LATER,)))
    story.site.s3.gate.set({})
    expect(story.promote(LATER), Exit.REFUSED)
    expect(run_rebuild(story.world(RM)))
    expect(story.promote(LATER, web=StaleWeb(story.site.s3, key)))
    assert key in story.site.public()
    assert story.site.s3.cdn.invalidated
    for role in (RM, AUDITOR):
        expect(status.run(story.world(role), (RELEASE, LATER), check=True))

    # What was public before the gate is taken in, with a link to it; then everything is looked at, by all
    # who may do so.
    story.site.s3.public.store("tool/0.9/tool-0.9.tgz", b"old", whole=False)
    links = folder / "links"
    links.write_text("old -> tool/0.9\n")
    expect(adopt.run(story.world(RM), AdoptRequest(".", str(links), dry_run=False)))
    assert story.site.s3.gate.entries["a:old"] == "tool/0.9"
    expect(index.run(story.world(RM), ()))
    for role in (RM, AUDITOR):
        for names in ((), (RELEASE,)):
            expect(audit.run(story.world(role), names, deep=True))
    return story
