"""Reads whose signatures count: the identities and OpenPGP keys of a profile."""

from collections.abc import Callable, Iterable, Mapping

from publisher.core.identity import Identity
from publisher.core.signing import Accepted
from publisher.documents.tables import ProfileFile, SignerTable

Report = Callable[[str, str, str], None]


class SignerReader:
    """Turns tables of identities into the core's values; what no single table can know is reported."""

    def __init__(self, tables: ProfileFile, report: Report) -> None:
        self._file = tables
        self._report = report

    def read_accepted(self) -> Accepted:
        """Read who may sign what."""
        table = self._file.identity
        if self._file.series and table.accepted:
            self._report(
                "identity.accepted",
                "it beside [series]",
                "identities by series, so that an unknown one refuses",
            )
        openpgp = self._file.openpgp
        keys = openpgp.series if openpgp else {}
        if self._file.series and openpgp and openpgp.accepted:
            self._report("openpgp.accepted", "it beside [series]", "fingerprints by series")
        for where, named in (("identity.series", table.series), ("openpgp.series", keys)):
            self._check_series(where, named)
        return Accepted(
            everywhere=self.read("identity.accepted", table.accepted),
            series=self._read_all("identity.series", table.series),
            releases=self._read_all("identity.release", table.release),
            records=self.read("identity.records", table.records),
            keys={series: frozenset(found) for series, found in keys.items()},
            all_keys=frozenset(openpgp.accepted if openpgp else ()),
        )

    def read(self, where: str, signers: Iterable[SignerTable]) -> tuple[Identity, ...]:
        """Read a list of identities; an issuer is one of [identity.issuers], or a URL."""
        return tuple(Identity(signer.name, self._find_issuer(where, signer.issuer)) for signer in signers)

    def _read_all(
        self, where: str, named: Mapping[str, list[SignerTable]]
    ) -> Mapping[str, tuple[Identity, ...]]:
        return {name: self.read(f"{where}.{name!r}", signers) for name, signers in named.items()}

    def _find_issuer(self, where: str, name: str) -> str:
        known = self._file.identity.issuers
        if name in known or name.startswith("https://"):
            return known.get(name, name)
        self._report(
            where, f"issuer {name!r}", f"an https URL, or one of {', '.join(sorted(known)) or 'none yet'}"
        )
        return name

    def _check_series(self, where: str, named: Iterable[str]) -> None:
        for series in named:
            if series not in self._file.series:
                known = ", ".join(self._file.series) or "none, since the profile has no [series]"
                self._report(where, repr(series), f"one of {known}")
