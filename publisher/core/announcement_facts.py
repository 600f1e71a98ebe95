"""What an announcement says of a release's files, as Markdown: downloads, digests, and how to verify them."""

import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from posixpath import basename
from urllib.parse import unquote, urlsplit

from publisher.core.announcement_text import escape, fence, format_size, link, write_code, write_table
from publisher.core.digests import Digest
from publisher.core.identity import Identity
from publisher.core.profile import Row


@dataclass(frozen=True, slots=True)
class AnnouncedFile:
    """A public artifact, as it is served. `row` is that of the listing, None for a file that is not listed.

    `bundle` is the URL of its Sigstore bundle, `sidecars` are the URLs of the other files about it.
    """

    key: str
    url: str
    size: int
    digest: Digest
    row: Row | None = None
    bundle: str | None = None
    sidecars: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Give the name that a download is stored under."""
        return basename(self.key)


@dataclass(frozen=True, slots=True)
class AnnouncedRelease:
    """A public release; `identities` are those that its bundles may be made by."""

    name: str
    kind: str
    series: str | None
    date: date
    files: tuple[AnnouncedFile, ...]
    identities: tuple[Identity, ...] = ()
    notes_url: str | None = None

    def __post_init__(self) -> None:
        if not self.files:
            raise ValueError(f"found {self.name} without files, expected at least one")

    @property
    def shown(self) -> tuple[AnnouncedFile, ...]:
        """Give the files to be shown: those of the listing, or all of them where none is listed."""
        return tuple(file for file in self.files if file.row is not None) or self.files


def write_files(release: AnnouncedRelease) -> str:
    """Write the table of downloads."""
    rows = [_write_row(file) for file in release.shown]
    table = write_table(("Download", "For", "Size", "About it"), rows)
    others = len(release.files) - len(rows)
    if others == 0:
        return table
    return (
        f"{table}\n\nThere {'is 1 more file' if others == 1 else f'are {others} more files'} in this release."
    )


def write_digests(release: AnnouncedRelease) -> str:
    """Write the SHA-256 digests as a command that checks what was downloaded of them."""
    names = _name_apart(release.shown)
    lines = (f"{file.digest}  {name}" for file, name in zip(release.shown, names, strict=True))
    return _write_code(("sha256sum --check --ignore-missing <<'END'", *lines, "END"))


def write_verification(release: AnnouncedRelease) -> str:
    """Write the commands that download one file and verify it; the others go the same way."""
    signed = next((file for file in release.shown if file.bundle), None)
    if signed is None or signed.bundle is None or not release.identities:
        file = next(iter(release.shown))
        return "With its SHA-256 digest:\n\n" + _write_code((_download(file.name, file.url), _check(file)))
    bundle = _name_end(signed.bundle)
    commands = [
        _download(signed.name, signed.url),
        _download(bundle, signed.bundle),
        _check(signed),
        "python -m pip install sigstore",
        *(_verify(signed, bundle, identity) for identity in release.identities),
    ]
    if len(release.identities) == 1:
        words = f"Signed by {escape(str(release.identities[0]))}, with [Sigstore](https://www.sigstore.dev/)."
    else:
        words = (
            f"Signed by one of {len(release.identities)} identities, with "
            "[Sigstore](https://www.sigstore.dev/): one of the last commands has to succeed."
        )
    return f"{words} The other signed files are verified in the same way.\n\n{_write_code(commands)}"


def _write_row(file: AnnouncedFile) -> tuple[str, str, str, str]:
    title = file.row.name if file.row else file.name
    words = (file.row.os, file.row.description) if file.row else ()
    about = " ".join(link(_name_sidecar(url, file), url) for url in _list_sidecars(file))
    return link(title, file.url), escape(", ".join(filter(None, words))), format_size(file.size), about


def _list_sidecars(file: AnnouncedFile) -> Iterator[str]:
    if file.bundle:
        yield file.bundle
    yield from file.sidecars


def _name_sidecar(url: str, file: AnnouncedFile) -> str:
    name = _name_end(url)
    return name.removeprefix(file.name) or name


def _name_end(url: str) -> str:
    return unquote(basename(urlsplit(url).path))


def _name_apart(files: tuple[AnnouncedFile, ...]) -> list[str]:
    """Name files as they are stored, or by their keys where two would be stored under one name."""
    count = Counter(file.name for file in files)
    return [file.name if count[file.name] == 1 else file.key for file in files]


def _download(name: str, url: str) -> str:
    # Named, since curl would keep what is escaped in a URL.
    return f"curl -fL -o {_quote(name)} {_quote(url)}"


def _check(file: AnnouncedFile) -> str:
    return f"echo {_quote(f'{file.digest}  {file.name}')} | sha256sum --check"


def _verify(file: AnnouncedFile, bundle: str, identity: Identity) -> str:
    return (
        f"python -m sigstore verify identity --bundle {_quote(bundle)} "
        f"--cert-identity {_quote(identity.name)} --cert-oidc-issuer {_quote(identity.issuer)} "
        f"{_quote(file.name)}"
    )


def _quote(text: str) -> str:
    return shlex.quote(write_code(text))


def _write_code(lines: tuple[str, ...] | list[str]) -> str:
    return fence(lines, "sh")
