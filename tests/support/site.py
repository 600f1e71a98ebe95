"""A small site on fakes: a profile with two builders and a tester, and hands to stage files with."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count

from publisher.commands import promote, sign
from publisher.commands.open import run_open, run_respin
from publisher.core import sums
from publisher.core.decide import Decision
from publisher.core.digests import of_bytes
from publisher.core.gate import Times
from publisher.core.refusals import Waiver
from publisher.documents.profile import parse_profile
from publisher.outcomes import Outcome
from publisher.workflow.world import Site as PublicSite
from publisher.workflow.world import World
from tests.support.fakes import FakeBucket, FakeCaller, FakeS3, Serial, Silent
from tests.support.sigstore_fake import FakeOpenPgp, FakeSigstore

PROFILE = rb"""
schema = 1

[project]
name = "Tool"
version = '(?P<series>\d+\.\d+)\.\d+(?P<stage>b\d+)?'
base_url = "https://dl.example.org/"

[roles.linux]
owner = "CI"

[roles.mac]
owner = "the Mac builder"

[roles.qa]
duty = "tests"
reads = ["linux", "mac"]

[content_types]
".tgz" = "application/gzip"

[classes]
immutable = "public, max-age=31536000, immutable"
amendable = "public, max-age=300"

[handover]
commit = true

# Tests of the pages turn them on.
[pages]
show = false

[identity]
accepted = [{ name = "rm@example.org", issuer = "https://accounts.example.org" }]

[record]
key = "tool/{release}/tool-{release}.record-{number}.json"

[[artifact]]
key = "tool/{release}/tool-{release}.tgz"
role = "linux"
sidecars = [{ suffix = ".spdx.json", need = "optional" }]

[[artifact]]
key = "tool/{release}/tool-{release}.pkg"
role = "mac"
"""

KEY = "0123456789ABCDEF0123456789ABCDEF01234567"
SIGNED_PROFILE = (
    PROFILE.replace(
        b"""accepted = [{ name = "rm@example.org", issuer = "https://accounts.example.org" }]
""",
        f"""[identity.series]
"1.2" = [{{ name = "rm@example.org", issuer = "https://accounts.example.org" }}]

[series."1.2"]
status = "bugfix"

[series."1.3"]
status = "feature"

[openpgp]
keys = "keys.asc"

[openpgp.series]
"1.2" = ["{KEY}"]

[signing]
bundle = ".sigstore"
signature = ".sig"
certificate = ".crt"
class = "amendable"
""".encode(),
    )
    .replace(
        b"""sidecars = [{ suffix = ".spdx.json", need = "optional" }]""",
        b"""sign = true
sidecars = [
  { suffix = ".spdx.json", format = "spdx", class = "amendable", need = "optional" },
  { suffix = ".asc", format = "openpgp", class = "amendable", by = "rm", need = "optional" },
]""",
    )
    .replace(
        b'''role = "mac"''',
        b"""role = "mac"
sign = true""",
    )
)
"""The same project, which signs both artifacts and may have an SBOM and an OpenPGP signature of one."""

TIMES = Times(lag=5, settle=20, error_ttl=10)
COMMIT = "a" * 40
OTHER_COMMIT = "b" * 40
RELEASE = "1.2.3"
TGZ = f"tool/{RELEASE}/tool-{RELEASE}.tgz"
PKG = f"tool/{RELEASE}/tool-{RELEASE}.pkg"
RECORD = ".record-"
FIRST_RECORD = f"tool/{RELEASE}/tool-{RELEASE}{RECORD}1.json"


@dataclass
class Site:
    """A site whose buckets are in memory. Ids count up, so that runs can be compared."""

    s3: FakeS3 = field(default_factory=FakeS3)
    profile_text: bytes = PROFILE
    observer: Silent = field(default_factory=Silent)
    sigstore: FakeSigstore = field(default_factory=FakeSigstore)
    signed_records: bool = True
    _ids: "count[int]" = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        # A login and a signature are requests too: a run can die before each.
        self.sigstore.before = lambda request, key: self.s3.before(request, key)

    def world(self, user: str = "rm") -> World:
        profile = parse_profile(self.profile_text, "tool.toml")
        return World(
            profile=profile,
            provisioned=frozenset(profile.roles),
            staging=self.s3.staging,
            public=self.s3.public,
            caller=FakeCaller(f"arn:aws:iam::123456789012:user/{user}"),
            gate=self.s3.gate,
            cdn=self.s3.cdn,
            web=self.s3.web,
            verifier=lambda: self.sigstore,
            signing=lambda: self.sigstore,
            openpgp=FakeOpenPgp,
            parallel=Serial(),
            new_id=lambda: f"{next(self._ids):032x}",
            sleep=self.s3.tick,
            monotonic=self.s3.clock_seconds,
            observer=self.observer,
            site=PublicSite("https://cdn.example.org/", "https://dl.example.org/"),
            times=TIMES,
            signed_records=self.signed_records,
        )

    def open(self, release: str = RELEASE, commit: str = COMMIT) -> Outcome:
        return run_open(self.world(), release, commit)

    def respin(self, commit: str = OTHER_COMMIT, release: str = RELEASE) -> Outcome:
        return run_respin(self.world(), release, commit, "a fault")

    def sign(self, *releases: str) -> Outcome:
        return sign.run(self.world(), releases or (RELEASE,))

    def promote(
        self, *releases: str, waivers: tuple[Waiver, ...] = (), plan: str | None = None, dry_run: bool = False
    ) -> Outcome:
        request = promote.PromoteRequest(releases or (RELEASE,), waivers, plan, dry_run)
        return promote.run(self.world(), request, say_yes)

    def stage(self, role: str, files: Mapping[str, bytes], release: str = RELEASE) -> None:
        for key, data in files.items():
            self.s3.staging.store(f"{role}/{release}/{key}", data)

    def hand_over(self, role: str, release: str = RELEASE, commit: str = COMMIT) -> None:
        prefix = f"{role}/{release}/"
        self.s3.staging.store(prefix + sums.COMMIT_NAME, f"{commit}\n".encode())
        digests = {
            key.removeprefix(prefix): digest
            for key, digest in self.s3.staging.digests(prefix).items()
            if not key.removeprefix(prefix).startswith(sums.NAME)
        }
        self.s3.staging.store(prefix + sums.NAME, sums.format_sums(digests))

    def stage_all(self, text: bytes = b"first", release: str = RELEASE, commit: str = COMMIT) -> None:
        """Stage and hand over both builders' files, whose bytes are made from `text`."""
        for role, ending in (("linux", "tgz"), ("mac", "pkg")):
            key = f"tool/{release}/tool-{release}.{ending}"
            self.stage(role, {key: text + b" " + key.encode()}, release)
            self.hand_over(role, release, commit)

    def public(self) -> dict[str, str]:
        """Give the digests of what is at public keys; pending copies, records and pages are left out."""
        return {
            key: digest
            for key, digest in self.s3.public.digests().items()
            if not key.startswith("_pending/")
            and RECORD not in key
            and not key.endswith(("index.html", "index.json"))
        }

    def public_records(self) -> dict[str, bytes]:
        """Give the bytes of every public record, by `release/number`."""
        return self._read_records(self.s3.public, r".*-(?P<release>[^/]+)\.record-(?P<number>[0-9]+)\.json")

    def stored_records(self) -> dict[str, bytes]:
        """Give the bytes of every record in the state, by `release/number`."""
        return self._read_records(self.s3.staging, r"_state/records/(?P<release>.+)/(?P<number>.+)\.json")

    def _read_records(self, bucket: FakeBucket, pattern: str) -> dict[str, bytes]:
        found = ((re.fullmatch(pattern, key), bucket.current(key)) for key in bucket.digests())
        return {
            f"{match['release']}/{match['number']}": version.data or b""
            for match, version in found
            if match and version
        }

    def visible(self, release: str = RELEASE) -> dict[str, str]:
        """Give the digests of what an edge without lag serves of a release's two main files."""
        found = {key: self.s3.web.find(key) for key in expected_public(release=release)}
        return {key: version.digest for key, version in found.items() if version}

    def live(self) -> set[str]:
        """Name the promotions that are live, or were."""
        shown = {entry.removeprefix("s:") for entry in self.s3.gate.entries if entry.startswith("s:")}
        return shown | {key.split("/")[2] for key in self.state("/live.json")}

    def state(self, pattern: str) -> list[str]:
        """List the keys of `_state/` that contain `pattern`."""
        return [key for key in self.s3.staging.digests("_state/") if pattern in key]


def a_signing_site() -> Site:
    """Make a site whose project signs, with one release open, staged and handed over, and not signed."""
    site = Site(profile_text=SIGNED_PROFILE)
    site.open()
    site.stage_all()
    return site


def say_yes(decision: Decision) -> bool:
    _ = decision
    return True


def expected_public(text: bytes = b"first", release: str = RELEASE) -> dict[str, str]:
    """Give what `stage_all` of `text` is to become."""
    keys = (f"tool/{release}/tool-{release}.pkg", f"tool/{release}/tool-{release}.tgz")
    return {key: of_bytes(text + b" " + key.encode()) for key in keys}
