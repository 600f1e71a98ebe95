"""What a project signs and whose signatures count: the profile's rules, and what checking sidecars said."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from publisher.core.identity import Identity, Rejected


class Format(StrEnum):
    """What a sidecar is, which says how it is checked; `FILE` is not."""

    FILE = "file"
    BUNDLE = "bundle"
    SIGNATURE = "signature"
    CERTIFICATE = "certificate"
    SBOM = "spdx"
    OPENPGP = "openpgp"


SIGNATURES = frozenset({Format.BUNDLE, Format.SIGNATURE, Format.CERTIFICATE, Format.OPENPGP})
"""The formats that prove something of their artifact; no waiver sets one of them aside."""

SIGSTORE = (Format.BUNDLE, Format.SIGNATURE, Format.CERTIFICATE)
"""What signing an artifact makes; the last two say what is in the bundle once more, for older tools."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """Whose signatures count: for a release, for a series, or `everywhere` in a project without series.

    The most exact entry holds alone. `records` may sign records, besides those who may sign the release.
    `keys` are OpenPGP fingerprints by series, `all_keys` those of a project without series.
    """

    everywhere: tuple[Identity, ...] = ()
    series: Mapping[str, tuple[Identity, ...]] = field(default_factory=dict[str, tuple[Identity, ...]])
    releases: Mapping[str, tuple[Identity, ...]] = field(default_factory=dict[str, tuple[Identity, ...]])
    records: tuple[Identity, ...] = ()
    keys: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    all_keys: frozenset[str] = frozenset()

    def find(self, release: str, series: str | None) -> tuple[Identity, ...]:
        """Name who may sign `release`; nobody, if it is of a series that is not written down."""
        if release in self.releases:
            return self.releases[release]
        return self.everywhere if series is None else self.series.get(series, ())

    def find_keys(self, series: str | None) -> frozenset[str]:
        """Give the fingerprints of the OpenPGP keys that may sign for `series`."""
        return self.all_keys if series is None else self.keys.get(series, frozenset())


@dataclass(frozen=True, slots=True)
class Checked:
    """A staged sidecar that was checked against its artifact's digest: good, unless there is a `problem`.

    `by` is who signed it; None where nobody does, or nobody good. `streamed` counts the artifact's bytes that
    had to be read for it.
    """

    problem: Rejected | None = None
    by: str | None = None
    streamed: int = 0


def describe(accepted: Collection[Identity]) -> str:
    """Write down who may sign, for people."""
    return " or ".join(str(identity) for identity in accepted) or "nobody: the profile names no identity"
