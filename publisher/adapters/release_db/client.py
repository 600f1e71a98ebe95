"""The client: what is read and written, and which version of the API does it."""

import re
from collections.abc import Mapping
from typing import cast
from urllib.parse import urlsplit

import requests

from publisher.adapters.http import Answer, Http, NoAnswerError, Sign
from publisher.adapters.release_db.answers import (
    ABSENT,
    CHECK_SITE,
    GET_KEY,
    GET_STAFF,
    GET_TOKEN,
    READ_BACK,
    describe,
    fail,
    judge_write,
)
from publisher.adapters.release_db.rows import (
    decode_file,
    decode_release,
    encode_file,
    encode_release,
    find_changes,
    read_id,
    read_text,
)
from publisher.core.listing import FoundFile, FoundRelease
from publisher.core.listing_changes import Change, CreateFile, CreateRelease, DeleteFile, UpdateFile
from publisher.errors import ListingError, ListingUnknownError

_V1 = "/api/v1/downloads/"
_V2 = "/api/v2/downloads/"
_SLUG = re.compile(r"[A-Za-z0-9_-]+")
_TOKEN = re.compile(r"[0-9a-f]{40}")
_API_KEY = re.compile(r"[!-9;-~]+:[!-9;-~]+")
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_CREATED, _OK, _GONE = 201, 200, 204


class ReleaseDb:
    """The database of one site, as one staff user.

    Args:
        http: The session.
        site: Where the site is, such as https://www.python.org. It has to be HTTPS, but on this machine.
        token: The staff user's token, 40 hex digits. It appears in no message.
        api_key: The same user's key for the first version (`user:key`), if there is one.

    Raises:
        ListingError: One of these cannot be.
    """

    def __init__(self, http: Http, site: str, token: str, *, api_key: str | None = None) -> None:
        if not _TOKEN.fullmatch(token):
            raise ListingError("the release database's token is not 40 hex digits", GET_TOKEN)
        if api_key is not None and not _API_KEY.fullmatch(api_key):
            raise ListingError("the release database's API key is not user:key", GET_KEY)
        parts = urlsplit(site)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
            raise ListingError(f"the release database's address is {site}, expected https://", CHECK_SITE)
        self._http = http
        self._site = site.rstrip("/")
        self._sign = _sign(f"Token {token}")
        self._sign_v1 = _sign(f"ApiKey {api_key}") if api_key else None
        self._systems: Mapping[str, int] | None = None

    def check_access(self) -> None:
        """Check that the token, and the API key if there is one, are a staff user's."""
        answer = self._ask("OPTIONS", f"{_V2}release_file/")
        found = answer.read_json()
        if answer.status != _OK or not isinstance(found, dict):
            fail("cannot ask the release database", answer)
        if "actions" not in found:
            raise ListingError("the release database does not take the token's user for staff", GET_STAFF)
        if self._sign_v1:
            key = self._ask("GET", f"{_V1}release/schema/", sign=self._sign_v1)
            if key.status != _OK:
                fail("the release database does not accept the API key", key, denied=GET_KEY)

    def read_systems(self) -> Mapping[str, int]:
        """Read the ids of the operating systems by slug, after the check of access; both are done once."""
        if self._systems is None:
            self.check_access()
            rows = self._list("os/", {})
            self._systems = {read_text(row, "slug"): read_id(row, "resource_uri") for row in rows}
        return self._systems

    def find_release(self, slug: str) -> FoundRelease | None:
        """Find a release, published or not."""
        rows = [decode_release(row) for row in self._list("release/", {"slug": _check_slug(slug)})]
        if any(found.row.slug != slug for found in rows):
            raise _filter_error(f"release {slug}")
        return rows[0] if rows else None

    def list_releases(self, version: int) -> tuple[FoundRelease, ...]:
        """List every release of a family, published or not."""
        rows = tuple(decode_release(row) for row in self._list("release/", {"version": str(version)}))
        if any(found.row.version != version for found in rows):
            raise _filter_error(f"releases of version {version}")
        return rows

    def read_files(self, release: int) -> tuple[FoundFile, ...]:
        """Read every file row of a release."""
        rows = self._find_files({"release": str(release)})
        if any(found.release != release for found in rows):
            raise _filter_error(f"files of release {release}")
        return rows

    def find_file(self, slug: str) -> FoundFile | None:
        """Find the file row with a slug, whichever release it belongs to."""
        rows = self._find_files({"slug": _check_slug(slug)})
        if any(found.row.slug != slug for found in rows):
            raise _filter_error(f"file {slug}")
        return rows[0] if rows else None

    def apply(self, change: Change) -> None:
        """Make one change with one write; a row that is gone already counts as deleted."""
        if isinstance(change, CreateRelease):
            row = {**encode_release(change.row), "slug": change.row.slug, "release_page": None}
            self._write("POST", "release/", row, expect=_CREATED)
        elif isinstance(change, CreateFile):
            self._create_file(change)
        elif isinstance(change, UpdateFile):
            number = change.id if change.id is not None else self._find_id(change)
            fields = find_changes(change.before, change.after)
            if "os" in fields:
                fields["os"] = f"{_V2}os/{self._system(change.after.os)}/"
            self._write("PATCH", f"release_file/{number}/", fields)
        elif isinstance(change, DeleteFile):
            self._write("DELETE", f"release_file/{change.id}/", None, expect=_GONE)
        else:
            before, after = encode_release(change.before), encode_release(change.after)
            fields = {name: value for name, value in after.items() if value != before[name]}
            self._write("PATCH", f"release/{change.id}/", fields)

    def _create_file(self, change: CreateFile) -> None:
        first = change.beside_button and self._sign_v1 is not None
        base = _V1 if first else _V2
        row = {
            **encode_file(change.row),
            "os": f"{base}os/{self._system(change.row.os)}/",
            "release": f"{base}release/{change.release}/",
        }
        if first:
            answer = self._send("POST", f"{_V1}release_file/", row, sign=self._sign_v1)
            judge_write(answer, _CREATED, f"cannot list {change.row.url}", denied=GET_KEY)
        else:
            self._write("POST", "release_file/", row, expect=_CREATED)

    def _find_id(self, change: UpdateFile) -> int:
        found = self.find_file(change.before.slug)
        if found is None or found.release != change.release:
            raise ListingError(f"the row {change.before.slug} is gone, or another release's", READ_BACK)
        return found.id

    def _system(self, slug: str) -> int:
        systems = self.read_systems()
        if slug not in systems:
            raise ListingError(f"the release database has no operating system {slug}", "correct the profile")
        return systems[slug]

    def _find_files(self, filters: Mapping[str, str]) -> tuple[FoundFile, ...]:
        slugs = {number: slug for slug, number in self.read_systems().items()}
        return tuple(decode_file(row, slugs) for row in self._list("release_file/", filters))

    def _list(self, resource: str, filters: Mapping[str, str]) -> list[object]:
        if self._systems is None and resource != "os/":
            # Never anonymous by mistake: drafts would look absent.
            self.read_systems()
        answer = self._ask("GET", _V2 + resource, params=filters)
        rows = answer.read_json()
        if answer.status != _OK or not isinstance(rows, list):
            fail(f"cannot read {resource.rstrip('/')} rows of the release database", answer)
        return cast("list[object]", rows)

    def _ask(
        self, method: str, path: str, *, params: Mapping[str, str] | None = None, sign: Sign | None = None
    ) -> Answer:
        try:
            return self._http.request(method, self._site + path, params=params, sign=sign or self._sign)
        except NoAnswerError as error:
            raise ListingError(str(error), "check the network, and run again") from error

    def _send(self, method: str, path: str, row: object, *, sign: Sign | None = None) -> Answer:
        try:
            return self._http.request(method, self._site + path, json=row, sign=sign or self._sign)
        except NoAnswerError as error:
            if not error.sent:
                raise ListingError(str(error), "check the network, and run again") from error
            raise ListingUnknownError(str(error), READ_BACK) from error

    def _write(self, method: str, resource: str, row: object, *, expect: int = _OK) -> None:
        # Refused or not, a write follows from what was read; and that is worth nothing as a stranger.
        self.read_systems()
        answer = self._send(method, _V2 + resource, row)
        if method == "DELETE" and answer.status == ABSENT and answer.read_json() is not None:
            # The API says so, not something in front of it.
            return
        what = f"cannot {method} {resource} in the release database"
        judge_write(answer, expect, what)
        if expect != _GONE and not isinstance(answer.read_json(), dict):
            raise ListingUnknownError(f"{what}: found {describe(answer)}, expected the row", READ_BACK)


def _sign(credentials: str) -> Sign:
    """Add credentials to each request; they are in no attribute that anything would show."""

    def sign(request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = credentials
        return request

    return sign


def _check_slug(slug: str) -> str:
    # An empty filter gives every row.
    if not _SLUG.fullmatch(slug):
        raise ListingError(f"{slug!r} is no slug of the release database", "correct [listing] in the profile")
    return slug


def _filter_error(what: str) -> ListingError:
    message = (
        f"the release database was asked for {what}, and gave other rows: it did not understand the filter"
    )
    return ListingError(message, "nothing was written; tell the publisher's maintainers")
