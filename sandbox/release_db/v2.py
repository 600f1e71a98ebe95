"""The second version of the API: token, bare lists, absolute URIs, PATCH as a write of the whole row."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from sandbox.release_db.fields import (
    V2,
    InvalidError,
    check_sidecars,
    file_checks,
    read_fields,
    release_checks,
)
from sandbox.release_db.tables import URL_FIELDS, IntegrityError, PurgeError, Tables
from sandbox.release_db.values import Reply, Request, Row, User, is_write, reply_json, reply_page

_BUTTON = {"non_field_errors": ["The fields os, release must make a unique set."]}
_NOT_A_CHOICE = "Select a valid choice. That choice is not one of the available choices."
_NAMES = {"os": "OS", "release": "Release", "release_file": "ReleaseFile"}
_FILE_FILTERS = {"name": "name", "slug": "slug", "description__contains": "description"}
_NEW_FILE = {
    "description": "",
    "is_source": False,
    "md5_sum": "",
    "sha256_sum": "",
    "filesize": 0,
    "download_button": False,
    **dict.fromkeys((field for field, suffix in URL_FIELDS.items() if suffix), ""),
}
_NEW_RELEASE = {
    "version": 3,
    "is_published": False,
    "is_latest": False,
    "pre_release": False,
    "release_page": None,
    "release_notes_url": "",
    "show_on_download_page": True,
}
_REQUIRED = {"release": ("name", "slug"), "release_file": ("name", "slug", "os", "release", "url")}


class RefusedError(Exception):
    """The request is not looked into; `reply` is the answer."""

    def __init__(self, reply: Reply) -> None:
        super().__init__()
        self.reply = reply


def _deny(detail: str) -> RefusedError:
    return RefusedError(reply_json(401, {"detail": detail}, WWW_Authenticate="Token"))


def authenticate(header: str, users: list[User]) -> User | None:
    """Find out who is asking; another scheme than `Token` is nobody's, and no error.

    Raises:
        RefusedError: The token is none.
    """
    words = header.split()
    if not words or words[0].lower() != "token":
        return None
    if len(words) == 1:
        raise _deny("Invalid token header. No credentials provided.")
    if len(words) > 2:
        raise _deny("Invalid token header. Token string should not contain spaces.")
    user = next((user for user in users if user.token == words[1]), None)
    if user is None:
        raise _deny("Invalid token.")
    if not user.is_active:
        raise _deny("User inactive or deleted.")
    return user


def authorize(request: Request, user: User | None) -> None:
    """Let everybody read, and staff write.

    Raises:
        RefusedError: This one may not.
    """
    if not is_write(request.method) or (user and user.is_staff):
        return
    if user is None:
        raise _deny("Authentication credentials were not provided.")
    raise RefusedError(reply_json(403, {"detail": "You do not have permission to perform this action."}))


class V2Api:
    """Answers requests below `V2`; `modern` is the site after it upgrades to a framework without its bug."""

    def __init__(self, tables: Tables, host: str) -> None:
        self._tables = tables
        self._host = host
        self.modern = False

    def answer(self, request: Request, user: User | None) -> Reply:
        """Answer a request that may be made."""
        match = re.fullmatch(rf"{V2}(os|release|release_file)/(?:(\d+)/|(delete_by_release/))?", request.path)
        if not match:
            return Reply(404, b"<h1>Not found</h1>")
        if re.search("text/html|application/xml", request.headers.get("accept", "")):
            return reply_json(406, {"detail": "Could not satisfy the request Accept header."})
        resource, number, every = match[1], match[2], match[3]
        try:
            if every:
                return self._delete_all(request)
            return self._answer_row(request, user, resource, int(number or 0))
        except InvalidError as error:
            return reply_json(400, error.problems)
        except (IntegrityError, PurgeError):
            return reply_page()

    def _answer_row(self, request: Request, user: User | None, resource: str, number: int) -> Reply:
        staff = user is not None and user.is_staff
        acts: dict[tuple[str, bool], Callable[[], Reply]] = {
            ("GET", False): lambda: self._list(request, resource, staff=staff),
            ("OPTIONS", False): lambda: self._describe(resource, staff=staff),
            ("GET", True): lambda: self._show(resource, number, staff=staff),
            ("OPTIONS", True): lambda: self._describe(resource, staff=staff),
        }
        if resource != "os":
            acts |= {
                ("POST", False): lambda: self._create(request, resource),
                ("PATCH", True): lambda: self._update(request, resource, number),
                ("PUT", True): lambda: self._update(request, resource, number, required=_REQUIRED[resource]),
                ("DELETE", True): lambda: self._delete(resource, number),
            }
        act = acts.get((request.method, number > 0))
        return act() if act else _refuse_method(request)

    def _table(self, resource: str) -> dict[int, Row]:
        tables = self._tables
        return {"os": tables.systems, "release": tables.releases, "release_file": tables.files}[resource]

    def show(self, resource: str, row: Row) -> Row:
        """Write a row as the API shows it."""
        shown = {name: value for name, value in row.items() if name != "id"}
        for link in ("os", "release"):
            if link in shown:
                shown[link] = f"{self._host}{V2}{link}/{shown[link]}/"
        return {**shown, "resource_uri": f"{self._host}{V2}{resource}/{row['id']}/"}

    def _describe(self, resource: str, *, staff: bool) -> Reply:
        checks = {"release": release_checks, "release_file": file_checks}.get(resource)
        fields = {name: {"type": "field"} for name in checks(self._tables, 0)} if checks else {}
        actions = {"actions": {"POST": fields}} if staff else {}
        return reply_json(
            200, {"name": f"{_NAMES[resource]} List", "parses": ["application/json"], **actions}
        )

    def _show(self, resource: str, number: int, *, staff: bool) -> Reply:
        row = self._table(resource).get(number)
        if row is None or (resource == "release" and not (row["is_published"] or staff)):
            return _missing(resource)
        return reply_json(200, self.show(resource, row))

    def _list(self, request: Request, resource: str, *, staff: bool) -> Reply:
        rows = list(self._table(resource).values())
        if resource == "release":
            rows = [row for row in rows if row["is_published"] or staff]
        filters = {"os": _filter_systems, "release": _filter_releases, "release_file": self._filter_files}
        found = filters[resource](rows, request.params())
        return reply_json(200, [self.show(resource, row) for row in found])

    def _filter_files(self, rows: list[Row], params: dict[str, str]) -> list[Row]:
        for name, value in params.items():
            field, _, lookup = name.partition("__")
            if name not in {*_FILE_FILTERS, "os", "release"}:
                problem = f"'{lookup or 'exact'}' is not an allowed filter on the '{field}' field."
                raise InvalidError({"error": [problem]})
            if not value:
                continue
            if name in {"os", "release"}:
                if not value.isdigit() or int(value) not in self._table(name):
                    raise InvalidError({name: [_NOT_A_CHOICE]})
                rows = [row for row in rows if row[name] == int(value)]
            elif lookup:
                rows = [row for row in rows if value in row[field]]
            else:
                rows = [row for row in rows if row[field] == value]
        return rows

    def _create(self, request: Request, resource: str) -> Reply:
        checks = self._checks(resource, 0)
        defaults = _NEW_RELEASE if resource == "release" else _NEW_FILE
        sent = read_fields(_parse(request), checks, _REQUIRED[resource])
        row = {**dict.fromkeys(checks), **defaults, **sent}
        row["id"] = self._tables.new_id()
        if resource == "release":
            row["release_date"] = sent.get("release_date") or self._tables.now()
        else:
            self._check_button(row, {})
        self._save(resource, row)
        where = f"{self._host}{V2}{resource}/{row['id']}/"
        return reply_json(201, self.show(resource, row), Location=where)

    def _update(
        self, request: Request, resource: str, number: int, *, required: tuple[str, ...] = ()
    ) -> Reply:
        # The whole row is read here, and the whole row is written below: what happens between is lost.
        before = self._table(resource).get(number)
        if before is None:
            return _missing(resource)
        row = {**before, **read_fields(_parse(request), self._checks(resource, number), required)}
        if resource == "release_file":
            self._check_button(row, before)
        self._save(resource, row)
        return reply_json(200, self.show(resource, row))

    def _checks(self, resource: str, number: int) -> dict[str, Callable[[Any], Any]]:
        return (release_checks if resource == "release" else file_checks)(self._tables, number)

    def _check_button(self, row: Row, before: Row) -> None:
        has_button = self._tables.has_button(row["os"], row["release"], but=row["id"])
        moved = any(row[field] != before.get(field) for field in ("os", "release"))
        # The bug: whether this row has a button is not asked; and a second one that is turned on is the
        # table's business.
        wrong = row["download_button"] if self.modern else moved
        if has_button and wrong:
            raise InvalidError(_BUTTON)
        problems = check_sidecars(row)
        if problems:
            raise InvalidError(problems)

    def _save(self, resource: str, row: Row) -> None:
        if resource == "release":
            self._tables.save_release(row)
        else:
            self._tables.save_file(row)

    def _delete(self, resource: str, number: int) -> Reply:
        if number not in self._table(resource):
            return _missing(resource)
        if resource == "release":
            self._tables.delete_release(number)
        else:
            self._tables.delete_files([number])
        return Reply(204)

    def _delete_all(self, request: Request) -> Reply:
        if request.method != "DELETE":
            return _refuse_method(request)
        value = request.params().get("release", "")
        if not re.fullmatch(r"-?\d+", value):
            return Reply(400)
        files = self._tables.files
        self._tables.delete_files([number for number, row in files.items() if row["release"] == int(value)])
        return Reply(204)


def _parse(request: Request) -> Any:
    kind = request.headers.get("content-type", "")
    if kind.partition(";")[0] != "application/json":
        raise RefusedError(reply_json(415, {"detail": f'Unsupported media type "{kind}" in request.'}))
    try:
        return json.loads(request.body)
    except ValueError as error:
        raise RefusedError(reply_json(400, {"detail": f"JSON parse error - {error}"})) from error


def _missing(resource: str) -> Reply:
    return reply_json(404, {"detail": f"No {_NAMES[resource]} matches the given query."})


def _refuse_method(request: Request) -> Reply:
    return reply_json(405, {"detail": f'Method "{request.method}" not allowed.'})


def _filter_systems(rows: list[Row], params: dict[str, str]) -> list[Row]:
    for field in ("name", "slug"):
        if params.get(field):
            rows = [row for row in rows if row[field] == params[field]]
    return rows


def _filter_releases(rows: list[Row], params: dict[str, str]) -> list[Row]:
    # Whatever is not understood is passed over: an unknown name, a blank or a word that is no truth value.
    rows = _filter_systems(rows, params)
    for field in ("is_published", "pre_release"):
        wanted = {"true": True, "1": True, "false": False, "0": False}.get(params.get(field, "").lower())
        if wanted is not None:
            rows = [row for row in rows if row[field] is wanted]
    version = params.get("version", "")
    if version and version not in {"1", "2", "3", "100"}:
        problem = f"Select a valid choice. {version} is not one of the available choices."
        raise InvalidError({"version": [problem]})
    if version:
        rows = [row for row in rows if row["version"] == int(version)]
    if params.get("release_date"):
        rows = [row for row in rows if _is_date(row["release_date"], params["release_date"])]
    return rows


def _is_date(found: str, wanted: str) -> bool:
    try:
        when = datetime.fromisoformat(wanted)
    except ValueError as error:
        raise InvalidError({"release_date": ["Enter a valid date/time."]}) from error
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return datetime.fromisoformat(found) == when
