"""The first version of the API: key, lists in envelopes, relative URIs, few checks, and no updates."""

import json
import re
from typing import Any
from urllib.parse import urlsplit

from sandbox.release_db.fields import PREFIX, PREFIX_RULE, check_sidecars
from sandbox.release_db.tables import URL_FIELDS, IntegrityError, PurgeError, Tables
from sandbox.release_db.values import CANNED, Reply, Request, Row, User, is_write, reply_json

V1 = "/api/v1/downloads/"
_PAGE = 20
_MOST = 1000
_MISMATCH = {"error": "Invalid resource lookup data provided (mismatched type)."}
_OWN = {
    "os": {"name", "slug"},
    "release": {"name", "slug", "is_published", "pre_release", "version"},
    "release_file": {"name", "slug", "os", "release"},
}
_THROUGH = {
    "os": {"name", "slug"},
    "release": {"slug", "name", "version", "is_published", "pre_release"},
}
_TEXTS = {
    "name": "",
    "slug": "",
    "description": "",
    "md5_sum": "",
    "sha256_sum": "",
    **dict.fromkeys(URL_FIELDS, ""),
}
_OTHERS = {"is_source": False, "filesize": 0, "download_button": False}
_EMPTY = Reply(401)


class _BadFilterError(Exception):
    """A filter is refused; `answer` is what it says."""

    def __init__(self, answer: Row) -> None:
        super().__init__()
        self.answer = answer


def find_user(request: Request, users: list[User]) -> tuple[User | None, Reply | None]:
    """Find out who is asking, or give the refusal: empty, whatever is wrong."""
    if {"username", "api_key"} & request.params().keys():
        return None, _EMPTY
    header = request.headers.get("authorization", "")
    if not header:
        return None, _EMPTY if is_write(request.method) else None
    match = re.fullmatch(r"(?i:ApiKey) ([^:]+):([^:]+)", header)
    user = next((user for user in users if match and (user.name, user.key) == match.groups()), None)
    if user is None or not user.is_active or (is_write(request.method) and not user.is_staff):
        return user, _EMPTY
    return user, None


class V1Api:
    """Answers requests below `V1`."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def answer(self, request: Request, user: User | None) -> Reply:
        """Answer a request that may be made."""
        match = re.fullmatch(rf"{V1}(os|release|release_file)/(?:(\d+|schema)/)?", request.path)
        if not match:
            return Reply(404)
        resource, which = match[1], match[2]
        staff = user is not None and user.is_staff
        if which == "schema":
            return reply_json(200, {"fields": {}}) if staff or resource != "release" else _EMPTY
        try:
            if which:
                return self._answer_row(request, resource, int(which), staff=staff)
            return self._answer_list(request, resource, staff=staff)
        except _BadFilterError as error:
            return reply_json(400, error.answer)
        except (IntegrityError, PurgeError):
            return reply_json(500, CANNED)

    def _answer_row(self, request: Request, resource: str, number: int, *, staff: bool) -> Reply:
        row = self._table(resource).get(number)
        if row is None:
            return Reply(404)
        if request.method == "DELETE" and resource == "release_file":
            self._tables.delete_files([number])
            return Reply(204)
        if request.method != "GET":
            return Reply(405, b"GET,DELETE")
        if resource == "release" and not (row["is_published"] or staff):
            return _EMPTY
        return reply_json(200, _show(resource, row))

    def _answer_list(self, request: Request, resource: str, *, staff: bool) -> Reply:
        if request.method == "GET":
            return self._list(request, resource, staff=staff)
        if resource != "release_file" or request.method not in {"POST", "DELETE"}:
            return Reply(405, b"GET,POST")
        return self._create(request) if request.method == "POST" else self._delete_all(request)

    def _table(self, resource: str) -> dict[int, Row]:
        tables = self._tables
        return {"os": tables.systems, "release": tables.releases, "release_file": tables.files}[resource]

    def _list(self, request: Request, resource: str, *, staff: bool) -> Reply:
        params = request.params()
        rows = sorted(self._table(resource).values(), key=lambda row: (row.get("release", 0), row["name"]))
        if resource == "release":
            rows = [row for row in rows if row["is_published"] or staff]
        for name, value in params.items():
            rows = self._filter(resource, rows, name, value)
        limit, offset = _read_page(params, "limit", _PAGE), _read_page(params, "offset", 0)
        limit = limit if 0 < limit < _MOST else _MOST
        after = offset + limit < len(rows)
        meta = {
            "limit": limit,
            "next": f"{request.path}?limit={limit}&offset={offset + limit}" if after else None,
            "offset": offset,
            "previous": f"{request.path}?limit={limit}&offset={max(0, offset - limit)}" if offset else None,
            "total_count": len(rows),
        }
        page = rows[offset : offset + limit]
        return reply_json(200, {"meta": meta, "objects": [_show(resource, row) for row in page]})

    def _filter(self, resource: str, rows: list[Row], name: str, value: str) -> list[Row]:
        field, _, lookup = name.partition("__")
        if field not in _OWN[resource] | {"description"}:
            # An unknown name filters nothing.
            return rows
        if (resource, name) in {
            ("release", "version__startswith"),
            ("release_file", "description__contains"),
        }:
            return [row for row in rows if value in str(row[field])]
        if resource == "release_file" and lookup in _THROUGH.get(field, ()):
            table = self._table(field)
            return [row for row in rows if _is_equal(table[row[field]][lookup], value)]
        if lookup or field == "description":
            problem = f"'{lookup or 'exact'}' is not an allowed filter on the '{field}' field."
            raise _BadFilterError({"error": problem})
        return [row for row in rows if _is_equal(row[field], value)]

    def _create(self, request: Request) -> Reply:
        try:
            sent = json.loads(request.body)
        except ValueError:
            return reply_json(400, {"error": "Request is not valid JSON."})
        row: Row = {**_TEXTS, **_OTHERS, **{k: v for k, v in sent.items() if k in {*_TEXTS, *_OTHERS}}}
        for link in ("os", "release"):
            number = _read_link(sent.get(link), link)
            if number not in self._table(link):
                uri = sent.get(link)
                problem = f"Could not find the provided downloads/{link} object via resource URI '{uri}'."
                return reply_json(400, {"error": problem})
            row[link] = number
        row["url"] = row["url"] or ""
        problems = check_sidecars(row)
        if row["url"] and not row["url"].startswith(PREFIX):
            problems["url"] = [PREFIX_RULE]
        if problems:
            return reply_json(400, {"downloads/release_file": problems})
        if any(len(str(row[field])) > 200 for field in _TEXTS if field != "description"):
            return reply_json(500, CANNED)
        row["id"] = self._tables.new_id()
        self._tables.save_file(row)
        return Reply(201, headers={"Location": f"{V1}release_file/{row['id']}/"})

    def _delete_all(self, request: Request) -> Reply:
        if [name for name, _ in request.query] != ["release"]:
            problem = "Deleting release files requires exactly one 'release' filter."
            return reply_json(400, {"error": problem})
        value = request.params()["release"]
        if not value.isdigit():
            return reply_json(400, _MISMATCH)
        files = self._tables.files
        self._tables.delete_files([number for number, row in files.items() if row["release"] == int(value)])
        return Reply(204)


def _show(resource: str, row: Row) -> Row:
    shown = {name: value for name, value in row.items() if name != "id"}
    for link in ("os", "release"):
        if link in shown:
            shown[link] = f"{V1}{link}/{shown[link]}/"
    if "release_date" in shown:
        shown["release_date"] = shown["release_date"].removesuffix("Z")
    return {**shown, "resource_uri": f"{V1}{resource}/{row['id']}/"}


def _is_equal(found: Any, wanted: str) -> bool:
    if isinstance(found, bool):
        return found is (wanted.lower() in {"true", "1"})
    if isinstance(found, int):
        if not wanted.isdigit():
            raise _BadFilterError(_MISMATCH)
        return found == int(wanted)
    return bool(found == wanted)


def _read_page(params: dict[str, str], name: str, default: int) -> int:
    value = params.get(name, str(default))
    if not value.isdigit():
        raise _BadFilterError(
            {"error": f"Invalid {name} '{value}' provided. Please provide a positive integer."}
        )
    return int(value)


def _read_link(value: object, resource: str) -> int:
    match = re.fullmatch(rf"/api/v[12]/downloads/{resource}/(\d+)/?", urlsplit(str(value)).path)
    return int(match[1]) if match else 0
