"""Builds the core's values for tests, each ready to be promoted unless a test says what is wrong with it."""

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from functools import cache

from publisher.core import sums
from publisher.core.decide import Author
from publisher.core.digests import of_bytes
from publisher.core.identity import Identity, Rejected
from publisher.core.plan import Plan, PlannedFile, PlannedRelease, Version
from publisher.core.profile import Delivery, Profile, Release
from publisher.core.refusals import Refusal, Waiver
from publisher.core.signing import Checked
from publisher.core.snapshot import (
    ReleaseSnapshot,
    ReleaseState,
    RoleStaging,
    SmallObject,
    Snapshot,
    StoredObject,
    Unfinished,
)
from publisher.documents.profile import parse_profile

HEAD = r"""
schema = 1

[project]
name = "Tool"
version = '(?P<series>\d+\.\d+)\.\d+(?P<stage>b?)\d*'
base_url = "https://dl.example.org/"

[kinds]
beta = { stage = "b" }
final = {}

[series."1.1"]
status = "end-of-life"

[series."1.2"]
status = "bugfix"
since = 2030-01-01
until = 2030-12-31

[roles.source]
owner = "CI"

[roles.windows]

[roles.qa]
duty = "tests"
reads = ["source", "windows"]

[handover]
commit = true

[signing]
bundle = ".sig"

[identity.series]
"1.2" = [{ name = "rm@example.org", issuer = "https://accounts.example.org" }]
"""
ARTIFACTS = """
[[artifact]]
key = "{release}/tool.tgz"
role = "source"
sign = true

[[artifact]]
key = "{release}/guide.pdf"
role = "source"
optional = "final"

[[artifact]]
key = "{release}/setup.exe"
role = "windows"
sidecars = [{ suffix = ".sbom" }]
row = { name = "Installer", os = "windows" }
"""
RELEASE = "1.2.0"
TGZ = f"{RELEASE}/tool.tgz"
SIG = f"{TGZ}.sig"
PDF = f"{RELEASE}/guide.pdf"
EXE = f"{RELEASE}/setup.exe"
SBOM = f"{EXE}.sbom"
COMMIT = "c" * 40
TODAY = date(2030, 6, 15)
NOON = datetime(2030, 6, 15, 12, tzinfo=UTC)
SIGNER = Identity("rm@example.org", "https://accounts.example.org")
GOOD = Checked(by=SIGNER.name)
BAD = Checked(Rejected("a bundle of another file", "one of this file's digest", "was it built again?"))
BINARY = Delivery("application/octet-stream", "immutable", "public, max-age=31536000, immutable")


@cache
def a_profile(artifacts: str = ARTIFACTS, head: str = HEAD) -> Profile:
    return parse_profile((head + artifacts).encode(), "profile.toml")


def a_release(name: str = RELEASE, profile: Profile | None = None) -> Release:
    release = (profile or a_profile()).parse_release(name)
    assert release is not None
    return release


def a_stored(
    data: str = "bytes", key: str = f"source/{TGZ}", *, size: int | None = None, streamed: bool = False
) -> StoredObject:
    digest = of_bytes(data.encode())
    version = Version(key, f"version-of-{digest[:8]}", f'"{digest[:32]}"')
    return StoredObject(version, len(data) if size is None else size, digest, streamed)


def stage(prefix: str, files: Mapping[str, str]) -> dict[str, StoredObject]:
    """Store the text of each file under its public key."""
    return {key: a_stored(data, f"{prefix}/{RELEASE}/{key}") for key, data in files.items()}


def staged(role: str, files: Mapping[str, str], hold: bytes | None = None) -> RoleStaging:
    """Stage files without handing them over."""
    return RoleStaging(stage(role, files), hold=None if hold is None else SmallObject("hold-1", hold))


def handed_over(
    role: str,
    files: Mapping[str, str],
    *,
    listed: Mapping[str, str] | None = None,
    commit: str | None = COMMIT,
    hold: bytes | None = None,
) -> RoleStaging:
    """Stage files and hand over: these, or what is `listed` instead."""
    lines = {key: of_bytes(data.encode()) for key, data in (files if listed is None else listed).items()}
    if commit is not None:
        lines[sums.COMMIT_NAME] = of_bytes(commit.encode())
    return RoleStaging(
        objects=stage(role, files),
        sums=SmallObject("sums-1", sums.format_sums(lines)),
        commit=None if commit is None else SmallObject("commit-1", commit.encode()),
        hold=None if hold is None else SmallObject("hold-1", hold),
    )


def a_state(
    commit: str | None = COMMIT, attempt: int = 1, void: Mapping[str, str] | None = None
) -> ReleaseState:
    return ReleaseState(1, RELEASE, commit, attempt, "", "an ARN", NOON, void or {})


OPEN = a_state()


def a_candidate(
    name: str = RELEASE,
    *,
    source: RoleStaging | None = None,
    windows: RoleStaging | None = None,
    qa: RoleStaging | None = None,
    rm: Mapping[str, str] | None = None,
    state: ReleaseState | None = OPEN,
    numbers: tuple[int, ...] = (),
    profile: Profile | None = None,
    checked: Mapping[str, Checked] | None = None,
) -> ReleaseSnapshot:
    """Make a release of which everything required is handed over and signed, but for what a test states."""
    exe = f"{name}/setup.exe"
    sig = f"{name}/tool.tgz.sig"
    return ReleaseSnapshot(
        release=a_release(name, profile),
        state=state,
        state_version="state-1" if state else None,
        roles={
            "source": source or handed_over("source", {f"{name}/tool.tgz": "tool"}),
            "windows": windows or handed_over("windows", {exe: "setup", f"{exe}.sbom": "sbom"}),
            "qa": qa or RoleStaging({}),
        },
        rm=stage("_rm", {sig: "sig"} if rm is None else rm),
        numbers=numbers,
        checked={sig: GOOD, **(checked or {})},
    )


def a_snapshot(
    *releases: ReleaseSnapshot,
    public: Mapping[str, str] | None = None,
    names: Iterable[str] = (),
    unfinished: tuple[Unfinished, ...] = (),
    provisioned: Iterable[str] = ("source", "windows", "qa"),
    today: date = TODAY,
) -> Snapshot:
    """Make a world; `public` gives the text of public files, `names` those of other public ones."""
    public = public or {}
    return Snapshot(
        today=today,
        releases=releases,
        public={key: of_bytes(data.encode()) for key, data in public.items()},
        public_names=frozenset({*public, *names}),
        unfinished=unfinished,
        provisioned=frozenset(provisioned),
    )


def a_file(key: str = TGZ, data: str = "tool", release: str = RELEASE) -> PlannedFile:
    stored = a_stored(data, f"source/{release}/{key}")
    return PlannedFile(
        key=key,
        release=release,
        role="source",
        digest=stored.digest,
        size=stored.size,
        source=stored.version,
        delivery=BINARY,
        sign=False,
        artifact=None,
        row=None,
    )


def a_plan(
    *files: PlannedFile,
    name: str = "p1",
    releases: tuple[str, ...] = (RELEASE,),
    waivers: tuple[Waiver, ...] = (),
) -> Plan:
    return Plan(
        schema=1,
        id=name,
        releases=tuple(PlannedRelease(name, COMMIT, 1, 1) for name in releases),
        files=files or (a_file(),),
        looks=(),
        waivers=waivers,
        waived=(),
        profile="Tool",
        profile_digest="00",
        who="an ARN",
        when=NOON,
    )


def a_refusal(rule: str = "missing", subject: str = TGZ) -> Refusal:
    return Refusal(rule, subject, "what is", "what should be", "what to do")


def a_waiver(name: str, reason: str = "known and accepted") -> Waiver:
    """Make a waiver from `rule:subject`, as a person writes it."""
    rule, _, subject = name.partition(":")
    return Waiver(rule, subject, reason)


AN_AUTHOR = Author("an ARN", "p1", NOON)
