"""The stand-in for the release database does as the contract says of the real one, trap by trap."""

import json
from collections.abc import Generator, Mapping
from typing import Any

import pytest
import requests

from sandbox.release_db import Fault, ReleaseDbServer, User, run_release_db

TOKEN = "0123456789abcdef0123456789abcdef01234567"
KEY = "the-key"
STAFF = {"Authorization": f"Token {TOKEN}"}
STAFF_V1 = {"Authorization": f"ApiKey rm:{KEY}"}
GUEST = User("guest", "a" * 40, "guest-key", is_staff=False)
GONE = User("gone", "b" * 40, "gone-key", is_active=False)
V1, V2 = "/api/v1/downloads/", "/api/v2/downloads/"
PREFIX = "https://www.python.org/ftp/python/3.14.2/"
CANNED = {"error_message": "Sorry, this request could not be processed. Please try again later."}
BUTTON = {"non_field_errors": ["The fields os, release must make a unique set."]}
SOURCE = 3


class Client:
    """Requests as anybody may make them; a staff user's unless told otherwise."""

    def __init__(self, server: ReleaseDbServer) -> None:
        self.server = server
        self.release = server.add_release("Python 3.14.2", "python-3142")

    def ask(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] = STAFF
    ) -> requests.Response:
        return requests.request(
            method,
            self.server.url + path,
            json=body,
            headers=dict(headers),
            allow_redirects=False,
            timeout=30,
        )

    def file(self, name: str = "a", version: str = V2, **fields: Any) -> dict[str, Any]:
        row = {
            "name": name,
            "slug": f"3142-{name}",
            "os": f"{version}os/{SOURCE}/",
            "release": f"{version}release/{self.release}/",
            "url": PREFIX + name,
        }
        return row | fields

    def add(self, name: str = "a", **fields: Any) -> dict[str, Any]:
        answer = self.ask("POST", f"{V2}release_file/", self.file(name, **fields))
        assert answer.status_code == 201, answer.text
        return answer.json()

    def patch(self, row: Mapping[str, Any], **fields: Any) -> requests.Response:
        return self.ask("PATCH", row["resource_uri"].removeprefix(self.server.url), fields)

    def read(self, row: Mapping[str, Any]) -> dict[str, Any]:
        return self.ask("GET", row["resource_uri"].removeprefix(self.server.url)).json()

    def count(self, path: str, headers: Mapping[str, str] = STAFF) -> int:
        answer = self.ask("GET", path, headers=headers)
        assert answer.status_code == 200, answer.text
        return len(answer.json())


@pytest.fixture
def server() -> Generator[ReleaseDbServer]:
    with run_release_db(token=TOKEN, key=KEY, others=(GUEST, GONE)) as server:
        yield server


@pytest.fixture
def client(server: ReleaseDbServer) -> Client:
    return Client(server)


def is_page(answer: requests.Response) -> bool:
    return answer.headers["Content-Type"].startswith("text/html") and len(answer.content) > 10_000


# --- Shapes -------------------------------------------------------------------------------------------------


def test_the_second_version_gives_bare_lists_and_absolute_addresses(client: Client) -> None:
    answer = client.ask("POST", f"{V2}release_file/", client.file())

    row = answer.json()
    assert answer.headers["Location"] == row["resource_uri"] == f"{client.server.url}{V2}release_file/2/"
    assert row["os"] == f"{client.server.url}{V2}os/{SOURCE}/"
    assert client.ask("GET", f"{V2}release_file/").json() == [row]
    assert "id" not in row
    assert (row["filesize"], row["download_button"], row["sha256_sum"]) == (0, False, "")


def test_the_first_version_gives_envelopes_relative_addresses_and_nothing_for_a_new_row(
    client: Client,
) -> None:
    answer = client.ask("POST", f"{V1}release_file/", client.file(version=V1), STAFF_V1)

    assert (answer.status_code, answer.content) == (201, b"")
    assert answer.headers["Location"] == f"{V1}release_file/2/"
    found = client.ask("GET", f"{V1}release_file/?release__slug=python-3142&limit=0").status_code
    assert found == 401
    listed = client.ask("GET", f"{V1}release_file/?release__slug=python-3142&limit=0", headers={}).json()
    assert listed["meta"] == {"limit": 1000, "next": None, "offset": 0, "previous": None, "total_count": 1}
    assert listed["objects"][0]["release"] == f"{V1}release/{client.release}/"
    release = client.ask("GET", f"{V1}release/{client.release}/", headers=STAFF_V1).json()
    assert not release["release_date"].endswith("Z")


def test_the_first_version_gives_pages_of_twenty(client: Client) -> None:
    for number in range(25):
        client.add(f"f{number:02}")

    first = client.ask("GET", f"{V1}release_file/", headers={}).json()
    second = client.ask("GET", first["meta"]["next"], headers={}).json()

    assert (len(first["objects"]), len(second["objects"])) == (20, 5)
    assert (first["meta"]["total_count"], second["meta"]["next"]) == (25, None)


@pytest.mark.parametrize("method", ["GET", "POST", "PATCH", "DELETE"])
@pytest.mark.parametrize("path", [f"{V2}release_file", f"{V1}release_file", f"{V2}release_file/2"])
def test_a_missing_slash_leads_to_the_right_address(client: Client, method: str, path: str) -> None:
    client.add()

    answer = client.ask(method, path, client.file("b"))

    assert (answer.status_code, answer.headers["Location"]) == (301, f"{path}/")
    assert len(client.server.tables.files) == 1


def test_a_client_that_follows_a_write_elsewhere_is_told_all_is_well(client: Client) -> None:
    url = f"{client.server.url}{V2}release_file"

    answer = requests.post(url, json=client.file(), headers=STAFF, timeout=30)

    assert (answer.status_code, answer.json()) == (200, [])


def test_what_is_not_offered_is_refused(client: Client) -> None:
    refused = client.ask("PATCH", f"{V2}release_file/", {})

    assert (refused.status_code, refused.json()) == (405, {"detail": 'Method "PATCH" not allowed.'})
    assert client.ask("PATCH", f"{V1}release_file/1/", {}, STAFF_V1).status_code in {404, 405}
    page = client.ask("GET", f"{V2}release_file/", headers={**STAFF, "Accept": "text/html"})
    assert page.status_code == 406
    text = requests.post(
        f"{client.server.url}{V2}release_file/",
        data=b"x",
        headers={**STAFF, "Content-Type": "text/plain"},
        timeout=30,
    )
    assert text.json() == {"detail": 'Unsupported media type "text/plain" in request.'}
    assert client.ask("GET", "/elsewhere/").status_code == 404


# --- Who is asking ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "status", "detail"),
    [
        (None, 401, "Authentication credentials were not provided."),
        (f"Bearer {TOKEN}", 401, "Authentication credentials were not provided."),
        (f"ApiKey rm:{KEY}", 401, "Authentication credentials were not provided."),
        ("Token", 401, "Invalid token header. No credentials provided."),
        ("Token a b", 401, "Invalid token header. Token string should not contain spaces."),
        (f"Token {'c' * 40}", 401, "Invalid token."),
        (f"Token {GONE.token}", 401, "User inactive or deleted."),
        (f"Token {GUEST.token}", 403, "You do not have permission to perform this action."),
    ],
)
def test_a_write_by_anybody_but_staff_is_refused_with_its_own_words(
    client: Client, header: str | None, status: int, detail: str
) -> None:
    headers = {"Authorization": header} if header else {}

    answer = client.ask("POST", f"{V2}release_file/", client.file(), headers)

    assert (answer.status_code, answer.json()) == (status, {"detail": detail})
    assert client.server.tables.files == {}


@pytest.mark.parametrize("header", ["", f"Bearer {TOKEN}", f"ApiKey rm:{KEY}", f"Token {GUEST.token}"])
def test_another_scheme_is_nobody_and_drafts_look_absent(client: Client, header: str) -> None:
    headers = {"Authorization": header} if header else {}

    assert client.count(f"{V2}release/", headers) == 0
    assert client.ask("GET", f"{V2}release/{client.release}/", headers=headers).status_code == 404
    assert (
        client.count(f"{V2}release/")
        == client.count(f"{V2}release/", {"Authorization": f"tOKEN {TOKEN}"})
        == 1
    )


@pytest.mark.parametrize(
    ("headers", "expected"), [(STAFF, True), ({}, False), ({"Authorization": f"Token {GUEST.token}"}, False)]
)
def test_only_staff_is_told_of_actions(client: Client, headers: Mapping[str, str], expected: bool) -> None:
    answer = client.ask("OPTIONS", f"{V2}release_file/", headers=headers)

    assert answer.status_code == 200
    assert ("actions" in answer.json()) is expected


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        ({}, ""),
        ({"Authorization": "ApiKey rm:other"}, ""),
        ({"Authorization": f"ApiKey RM:{KEY}"}, ""),
        ({"Authorization": f"Token {TOKEN}"}, ""),
        ({"Authorization": f"ApiKey guest:{GUEST.key}"}, ""),
        ({"Authorization": f"ApiKey gone:{GONE.key}"}, ""),
        (STAFF_V1, "?username=rm"),
        (STAFF_V1, "?api_key=x"),
    ],
)
def test_the_first_version_refuses_without_a_word(
    client: Client, headers: Mapping[str, str], query: str
) -> None:
    answer = client.ask("POST", f"{V1}release_file/{query}", client.file(version=V1), headers)

    assert (answer.status_code, answer.content) == (401, b"")


def test_the_first_versions_schema_is_for_staff(client: Client) -> None:
    assert client.ask("GET", f"{V1}release/schema/", headers=STAFF_V1).status_code == 200
    assert client.ask("GET", f"{V1}release/schema/", headers={}).status_code == 401
    assert client.ask("GET", f"{V1}os/schema/", headers={}).status_code == 200


# --- What is public -----------------------------------------------------------------------------------------


def test_the_files_of_a_draft_are_public_and_so_is_its_page(client: Client) -> None:
    client.add(sha256_sum="a" * 64)

    assert client.count(f"{V2}release_file/", {}) == 1
    first = client.ask("GET", f"{V1}release_file/?release__slug=python-3142&limit=0", headers={}).json()
    assert [row["sha256_sum"] for row in first["objects"]] == ["a" * 64]
    page = client.ask("GET", "/downloads/release/python-3142/", headers={})
    assert (page.status_code, "a" * 64 in page.text) == (200, True)
    assert client.ask("GET", "/downloads/release/python-999/", headers={}).status_code == 404


def test_a_draft_itself_is_not_public(client: Client) -> None:
    one = f"release/{client.release}/"

    assert client.ask("GET", f"{V1}release/", headers={}).json()["objects"] == []
    assert client.ask("GET", V1 + one, headers={}).status_code == 401
    assert client.ask("GET", V2 + one, headers={}).json() == {"detail": "No Release matches the given query."}
    assert client.ask("GET", V1 + one, headers=STAFF_V1).status_code == 200
    client.ask("PATCH", V2 + one, {"is_published": True})
    assert client.ask("GET", V1 + one, headers={}).status_code == 200


# --- Filters ------------------------------------------------------------------------------------------------


@pytest.fixture
def filled(client: Client) -> Client:
    """Two releases with one file each."""
    client.add("a", description="for all")
    client.release = client.server.add_release("Python 3.14.3", "python-3143", pre_release=True)
    client.add("b")
    return client


@pytest.mark.parametrize(
    ("path", "count"),
    [
        ("release_file/?release={}", 1),
        ("release_file/?slug=3142-a", 1),
        ("release_file/?slug=3142-A", 0),
        ("release_file/?description__contains=all", 1),
        ("release_file/?os=3", 2),
        ("release_file/?os=1", 0),
        ("release_file/?slug=3142-a&slug=3142-b", 1),
        # From here on: filters that are none.
        ("release_file/?release=", 2),
        ("release_file/?slug=", 2),
        ("release/?slug=python-3142", 1),
        ("release/?slug=", 2),
        ("release/?slug__in=python-3142", 2),
        ("release/?is_latest=true", 2),
        ("release/?bogus=1", 2),
        ("release/?is_published=junk", 2),
        ("release/?is_published=true", 0),
        ("release/?pre_release=1", 1),
        ("release/?version=3", 2),
        ("release/?version=100", 0),
        ("release/?release_date=1999-01-01", 0),
        ("os/?slug=source", 1),
        ("os/?id=2", 5),
    ],
)
def test_filters_of_the_second_version(filled: Client, path: str, count: int) -> None:
    assert filled.count(V2 + path.format(filled.release)) == count


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("release_file/?bogus=1", {"error": ["'exact' is not an allowed filter on the 'bogus' field."]}),
        ("release_file/?slug__in=a", {"error": ["'in' is not an allowed filter on the 'slug' field."]}),
        (
            "release_file/?release=999",
            {"release": ["Select a valid choice. That choice is not one of the available choices."]},
        ),
        (
            "release_file/?os=/api/v2/downloads/os/3/",
            {"os": ["Select a valid choice. That choice is not one of the available choices."]},
        ),
        (
            "release/?version=9",
            {"version": ["Select a valid choice. 9 is not one of the available choices."]},
        ),
        ("release/?release_date=x", {"release_date": ["Enter a valid date/time."]}),
    ],
)
def test_filters_that_the_second_version_refuses(filled: Client, path: str, problem: object) -> None:
    answer = filled.ask("GET", V2 + path)

    assert (answer.status_code, answer.json()) == (400, problem)


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("release_file/?release__slug=python-3142", 1),
        ("release_file/?release__is_published=true", 0),
        ("release_file/?os__slug=source", 2),
        ("release_file/?description__contains=all", 1),
        ("release_file/?slug=", 0),
        ("release_file/?bogus=1", 2),
        ("release_file/?release=999", 0),
        ("release/?version__startswith=3", 2),
        ("release/?version=3", 2),
    ],
)
def test_filters_of_the_first_version(filled: Client, query: str, count: int) -> None:
    assert filled.ask("GET", V1 + query, headers=STAFF_V1).json()["meta"]["total_count"] == count


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("release_file/?release=", "Invalid resource lookup data provided (mismatched type)."),
        ("release_file/?name__contains=a", "'contains' is not an allowed filter on the 'name' field."),
        ("release_file/?limit=x", "Invalid limit 'x' provided. Please provide a positive integer."),
    ],
)
def test_filters_that_the_first_version_refuses(filled: Client, query: str, problem: str) -> None:
    answer = filled.ask("GET", V1 + query, headers={})

    assert (answer.status_code, answer.json()) == (400, {"error": problem})


# --- The button ---------------------------------------------------------------------------------------------


def test_no_row_at_all_is_added_where_a_button_is(client: Client) -> None:
    client.add("a", download_button=True)

    for row in (client.file("b"), client.file("b", download_button=True)):
        answer = client.ask("POST", f"{V2}release_file/", row)
        assert (answer.status_code, answer.json()) == (400, BUTTON)
    client.add("b", os=f"{V2}os/1/")
    first = client.ask("POST", f"{V1}release_file/", client.file("c", V1), STAFF_V1)
    assert first.status_code == 201


def test_a_row_is_not_moved_to_where_a_button_is(client: Client) -> None:
    client.add("a", download_button=True)
    other = client.add("b", os=f"{V2}os/1/")

    answer = client.patch(other, os=f"{V2}os/{SOURCE}/")

    assert (answer.status_code, answer.json()) == (400, BUTTON)
    assert client.patch(other, os=f"{V2}os/2/").status_code == 200


def test_a_second_button_breaks_the_server_and_changes_nothing(client: Client) -> None:
    row = client.add("b")
    button = client.add("a", download_button=True)

    answer = client.patch(row, download_button=True)

    assert (answer.status_code, is_page(answer)) == (500, True)
    assert client.read(row) == row
    assert client.patch(button, download_button=False).status_code == 200
    assert client.patch(row, download_button=True).status_code == 200
    first = client.ask("POST", f"{V1}release_file/", client.file("c", V1, download_button=True), STAFF_V1)
    assert (first.status_code, first.json()) == (500, CANNED)


def test_after_the_upgrade_only_a_second_button_is_refused(client: Client) -> None:
    client.server.v2.modern = True
    client.add("a", download_button=True)

    row = client.add("b")

    answer = client.patch(row, download_button=True)
    assert (answer.status_code, answer.json()) == (400, BUTTON)
    again = client.ask("POST", f"{V2}release_file/", client.file("c", download_button=True))
    assert (again.status_code, again.json()) == (400, BUTTON)


# --- Checks of what is sent ---------------------------------------------------------------------------------

PREFIX_RULE = "Release file URLs must begin with 'https://www.python.org/'."
SLUG_RULE = 'Enter a valid "slug" consisting of letters, numbers, underscores or hyphens.'


@pytest.mark.parametrize(
    ("fields", "problems"),
    [
        ({"url": "http://www.python.org/a"}, {"url": [PREFIX_RULE]}),
        ({"url": "https://www.python.org:443/a"}, {"url": [PREFIX_RULE]}),
        ({"url": "/a"}, {"url": ["Enter a valid URL."]}),
        ({"url": "https://www.python.org/a b"}, {"url": ["Enter a valid URL."]}),
        ({"url": " "}, {"url": ["This field may not be blank."]}),
        ({"url": None}, {"url": ["This field may not be null."]}),
        ({"name": ""}, {"name": ["This field may not be blank."]}),
        ({"name": True}, {"name": ["Not a valid string."]}),
        ({"name": "a" * 201}, {"name": ["Ensure this field has no more than 200 characters."]}),
        ({"slug": "3.14"}, {"slug": [SLUG_RULE]}),
        ({"description": "a\0"}, {"description": ["Null characters are not allowed."]}),
        ({"filesize": 2**31}, {"filesize": ["Ensure this value is less than or equal to 2147483647."]}),
        (
            {"filesize": -(2**31) - 1},
            {"filesize": ["Ensure this value is greater than or equal to -2147483648."]},
        ),
        ({"filesize": 1.5}, {"filesize": ["A valid integer is required."]}),
        ({"filesize": True}, {"filesize": ["A valid integer is required."]}),
        ({"download_button": "maybe"}, {"download_button": ["Must be a valid boolean."]}),
        ({"release": f"{V2}release/999/"}, {"release": ["Invalid hyperlink - Object does not exist."]}),
        ({"release": 1}, {"release": ["Incorrect type. Expected URL string, received int."]}),
        ({"os": f"{V1}os/3/"}, {"os": ["Invalid hyperlink - Incorrect URL match."]}),
        ({"os": f"{V2}os/3"}, {"os": ["Invalid hyperlink - No URL match."]}),
        (
            {"sigstore_bundle_file": PREFIX + "a.sigstore.json"},
            {"sigstore_bundle_file": ["Sidecar URL must match the artifact URL plus '.sigstore'."]},
        ),
        (
            {"gpg_signature_file": "https://example.org/a.asc"},
            {"gpg_signature_file": [PREFIX_RULE, "Sidecar URL must match the artifact URL plus '.asc'."]},
        ),
    ],
)
def test_a_wrong_field_is_named(client: Client, fields: dict[str, Any], problems: object) -> None:
    answer = client.ask("POST", f"{V2}release_file/", client.file() | fields)

    assert (answer.status_code, answer.json()) == (400, problems)
    assert client.server.tables.files == {}


@pytest.mark.parametrize(
    "fields",
    [
        {"sha256_sum": "abc"},
        {"sha256_sum": 5},
        {"filesize": -1},
        {"filesize": "123"},
        {"filesize": 2.0},
        {"download_button": "yes"},
        {"description": "a" * 100_000},
        {"os": "https://elsewhere.example/api/v2/downloads/os/3/"},
        {"unknown": 1, "id": 9},
        {"sbom_spdx2_file": PREFIX + "a.spdx.json"},
    ],
)
def test_much_that_is_wrong_is_taken(client: Client, fields: dict[str, Any]) -> None:
    assert client.ask("POST", f"{V2}release_file/", client.file() | fields).status_code == 201


def test_whatever_is_missing_or_no_row_at_all_is_named(client: Client) -> None:
    empty = client.ask("POST", f"{V2}release_file/", {})
    several = client.ask("POST", f"{V2}release_file/", [1])
    broken = requests.post(
        f"{client.server.url}{V2}release_file/",
        data=b"{",
        headers={**STAFF, "Content-Type": "application/json"},
        timeout=30,
    )

    required = ["This field is required."]
    assert empty.json() == dict.fromkeys(("name", "slug", "os", "release", "url"), required)
    assert several.json() == {"non_field_errors": ["Invalid data. Expected a dictionary, but got list."]}
    assert broken.json()["detail"].startswith("JSON parse error - ")


def test_blanks_are_trimmed(client: Client) -> None:
    row = client.add(description=" a ", sha256_sum=f" {'a' * 64}\n")

    assert (row["description"], row["sha256_sum"]) == ("a", "a" * 64)
    assert client.patch(row, name=" b ").json()["name"] == "b"


def test_slug_and_url_are_unique_over_all_releases(client: Client) -> None:
    client.add()
    client.release = client.server.add_release("Python 3.14.3", "python-3143")

    both = client.ask("POST", f"{V2}release_file/", client.file())
    first = client.ask("POST", f"{V1}release_file/", client.file(version=V1), STAFF_V1)

    assert both.json() == {
        "slug": ["Release File with this slug already exists."],
        "url": ["Release File with this URL already exists."],
    }
    assert (first.status_code, first.json()) == (500, CANNED)


def test_a_url_alone_leaves_its_sidecars_behind(client: Client) -> None:
    row = client.add(sigstore_signature_file=PREFIX + "a.sig")

    alone = client.patch(row, url=PREFIX + "b")
    together = client.patch(row, url=PREFIX + "b", sigstore_signature_file=PREFIX + "b.sig")

    assert alone.json() == {
        "sigstore_signature_file": ["Sidecar URL must match the artifact URL plus '.sig'."]
    }
    assert together.status_code == 200


def test_an_old_row_in_the_clear_can_be_changed_elsewhere(client: Client) -> None:
    row = client.add()
    client.server.tables.files[2]["url"] = "http://www.python.org/a"

    assert client.patch(row, filesize=5).status_code == 200
    assert client.patch(row, gpg_signature_file="http://www.python.org/a.asc").status_code == 400


def test_put_keeps_what_is_left_out(client: Client) -> None:
    row = client.add(filesize=5)
    path = f"{V2}release_file/2/"

    assert client.ask("PUT", path, {"name": "b"}).status_code == 400
    assert client.ask("PUT", path, client.file(name="b", slug="c")).json()["filesize"] == 5
    assert row["name"] == "a"


@pytest.mark.parametrize(
    ("row", "status", "answer"),
    [
        ({"url": "https://example.org/a"}, 400, {"downloads/release_file": {"url": [PREFIX_RULE]}}),
        ({"url": PREFIX + "a b"}, 201, None),
        ({"url": None}, 201, None),
        ({"slug": "3.14 x"}, 201, None),
        ({"name": "a" * 201}, 500, CANNED),
        (
            {"release": f"{V1}release/999/"},
            400,
            {
                "error": "Could not find the provided downloads/release object via resource URI "
                "'/api/v1/downloads/release/999/'."
            },
        ),
    ],
)
def test_the_first_version_checks_little(
    client: Client, row: dict[str, Any], status: int, answer: object
) -> None:
    found = client.ask("POST", f"{V1}release_file/", client.file(version=V1) | row, STAFF_V1)

    assert found.status_code == status
    assert (found.json() if found.content else None) == answer


@pytest.mark.parametrize(
    ("fields", "problems"),
    [
        ({"slug": "python-3142"}, {"slug": ["Release with this slug already exists."]}),
        ({"slug": "a b"}, {"slug": [SLUG_RULE]}),
        ({"version": 4}, {"version": ['"4" is not a valid choice.']}),
        ({"is_published": "x"}, {"is_published": ["Must be a valid boolean."]}),
        ({"release_notes_url": "docs"}, {"release_notes_url": ["Enter a valid URL."]}),
        ({"release_page": "x"}, {"release_page": ["Invalid hyperlink - Object does not exist."]}),
        ({"release_date": None}, {"release_date": ["This field may not be null."]}),
    ],
)
def test_a_wrong_field_of_a_release_is_named(
    client: Client, fields: dict[str, Any], problems: object
) -> None:
    answer = client.ask("POST", f"{V2}release/", {"name": "Python 3.14.3", "slug": "python-3143"} | fields)

    assert (answer.status_code, answer.json()) == (400, problems)


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("2025-12-05", "2025-12-05T00:00:00Z"),
        ("2025-12-05T12:00:00", "2025-12-05T12:00:00Z"),
        ("2025-12-05T12:00:00+02:00", "2025-12-05T10:00:00Z"),
        ("2025-12-05T12:00:00.000001Z", "2025-12-05T12:00:00.000001Z"),
        ("soon", None),
    ],
)
def test_a_date_is_shown_in_utc(client: Client, sent: str, shown: str | None) -> None:
    answer = client.ask("PATCH", f"{V2}release/{client.release}/", {"release_date": sent})

    if shown is None:
        assert answer.status_code == 400
    else:
        assert answer.json()["release_date"] == shown


def test_a_page_of_the_release_has_no_field(client: Client) -> None:
    answer = client.ask("POST", f"{V2}release/", {"name": "Python 3.14.3", "slug": "p", "content": "x"})

    assert answer.status_code == 201
    assert "content" not in answer.json()
    assert (answer.json()["is_published"], answer.json()["show_on_download_page"]) == (False, True)


# --- What a write sets off ----------------------------------------------------------------------------------


def test_the_latest_of_a_family_demotes_the_others_even_as_a_draft(client: Client) -> None:
    old = client.server.add_release("Python 3.14.1", "python-3141", is_published=True, is_latest=True)
    other = client.server.add_release("Python 2.7.18", "python-2718", version=2, is_latest=True)

    client.ask("PATCH", f"{V2}release/{client.release}/", {"is_latest": True})

    releases = client.server.tables.releases
    assert [number for number, row in releases.items() if row["is_latest"]] == [client.release, other]
    assert releases[old]["is_published"]


def test_only_what_is_public_is_purged(client: Client) -> None:
    purges = client.server.tables.purges
    one = f"{V2}release/{client.release}/"
    client.add()
    assert purges == []

    client.ask("PATCH", one, {"is_published": True})
    assert len(purges) == 6
    client.ask("PATCH", one, {})
    assert len(purges) == 12
    client.add("b")
    assert len(purges) == 15
    client.ask("PATCH", one, {"is_published": False})
    assert len(purges) == 15


def test_a_broken_purge_comes_after_the_write_and_before_the_end_of_a_deletion(client: Client) -> None:
    row = client.add()
    one = f"{V2}release/{client.release}/"
    client.ask("PATCH", one, {"is_published": True})
    client.server.tables.purges_fail = True

    changed = client.patch(row, filesize=9)
    added = client.ask("POST", f"{V2}release_file/", client.file("b"))
    first = client.ask("POST", f"{V1}release_file/", client.file("c", V1), STAFF_V1)
    deleted = client.ask("DELETE", f"{V2}release_file/2/")
    all_deleted = client.ask("DELETE", f"{V2}release_file/delete_by_release/?release={client.release}")

    assert all(is_page(answer) for answer in (changed, added, deleted, all_deleted))
    assert (first.status_code, first.json()) == (500, CANNED)
    rows = client.server.tables.files.values()
    assert [(row["name"], row["filesize"]) for row in rows] == [("a", 9), ("b", 0), ("c", 0)]
    assert client.ask("PATCH", one, {"is_published": False}).status_code == 200


def test_of_two_updates_at_once_one_is_lost(client: Client) -> None:
    row = client.add()

    def meanwhile() -> None:
        assert client.patch(row, filesize=7).status_code == 200

    client.server.tables.before_save = meanwhile
    assert client.patch(row, description="mine").status_code == 200

    assert (client.read(row)["description"], client.read(row)["filesize"]) == ("mine", 0)


def test_an_update_brings_back_what_was_deleted_meanwhile(client: Client) -> None:
    row = client.add()

    def meanwhile() -> None:
        assert client.ask("DELETE", f"{V2}release_file/2/").status_code == 204

    client.server.tables.before_save = meanwhile
    assert client.patch(row, description="mine").status_code == 200

    assert client.read(row)["description"] == "mine"


def test_a_lost_race_for_a_slug_breaks_the_server(client: Client) -> None:
    def meanwhile() -> None:
        client.add()

    client.server.tables.before_save = meanwhile

    assert is_page(client.ask("POST", f"{V2}release_file/", client.file()))
    assert len(client.server.tables.files) == 1


def test_deletions(client: Client) -> None:
    client.add()
    client.add("b")
    client.add("c")

    assert client.ask("DELETE", f"{V2}release_file/2/").status_code == 204
    again = client.ask("DELETE", f"{V2}release_file/2/")
    assert (again.status_code, again.json()) == (404, {"detail": "No ReleaseFile matches the given query."})
    assert client.ask("DELETE", f"{V1}release_file/3/", headers=STAFF_V1).status_code == 204
    for query, status in (("", 400), ("?release=", 400), ("?release=x", 400), ("?release=999", 204)):
        path = f"{V2}release_file/delete_by_release/{query}"
        assert client.ask("DELETE", path).status_code == status
    assert client.ask("GET", f"{V2}release_file/delete_by_release/").status_code == 405
    assert len(client.server.tables.files) == 1
    assert client.ask("DELETE", f"{V1}release_file/?release=1&os=3", headers=STAFF_V1).status_code == 400
    assert client.ask("DELETE", f"{V1}release_file/?release=x", headers=STAFF_V1).status_code == 400
    path = f"{V1}release_file/?release={client.release}"
    assert client.ask("DELETE", path, headers=STAFF_V1).status_code == 204
    assert client.server.tables.files == {}


def test_a_deleted_release_takes_its_files_along(client: Client) -> None:
    client.add()

    assert client.ask("DELETE", f"{V2}release/{client.release}/").status_code == 204
    assert (client.server.tables.releases, client.server.tables.files) == ({}, {})


# --- Throttling and faults ----------------------------------------------------------------------------------


def test_too_many_requests_are_refused_until_the_next_day(client: Client) -> None:
    client.server.quotas |= {"anonymous": 1, "user": 2, "v1": 1}

    statuses = [client.ask("GET", f"{V2}os/", headers={}).status_code for _ in range(2)]
    first = [client.ask("GET", f"{V1}os/", headers={}) for _ in range(2)]
    anonymous_write = client.ask("POST", f"{V2}release_file/", {}, {})
    users = [client.ask("GET", f"{V2}os/") for _ in range(3)]

    assert statuses == [200, 429]
    assert [(answer.status_code, answer.headers.get("Retry-After")) for answer in first] == [
        (200, None),
        (429, "3548"),
    ]
    assert first[1].content == b""
    assert anonymous_write.status_code == 401
    assert [answer.status_code for answer in users] == [200, 200, 429]
    assert users[2].headers["Retry-After"] == "86393"
    assert users[2].json() == {"detail": "Request was throttled. Expected available in 86393 seconds."}


@pytest.mark.parametrize("fault", Fault)
def test_a_fault_meets_the_write_it_was_meant_for(client: Client, fault: Fault) -> None:
    client.server.fail(2, fault)
    client.add("a")
    client.ask("GET", f"{V2}release_file/")
    status: int | None = None

    try:
        answer = requests.post(
            f"{client.server.url}{V2}release_file/",
            json=client.file("b"),
            headers=STAFF,
            timeout=(10, 0.3 if "silent" in fault else 30),
        )
    except (requests.ConnectionError, requests.Timeout):
        assert "silent" in fault or "cut" in fault
    else:
        status = answer.status_code

    expected = {"fail": 500, "throttle": 429, "garble": 201}.get(fault.partition("-")[0])
    assert status == expected
    names = [row["name"] for row in client.server.tables.files.values()]
    assert names == ["a", *(["b"] if fault.endswith("after") or fault is Fault.GARBLE else [])]


def test_the_log_has_every_request_without_credentials(client: Client) -> None:
    client.add()
    client.ask("GET", f"{V2}release_file/?slug=x")

    write, read = client.server.log
    assert (write.method, write.path, write.status, write.user) == ("POST", f"{V2}release_file/", 201, "rm")
    assert json.loads(write.body)["name"] == "a"
    assert (read.query, read.is_write) == ("slug=x", False)
    assert client.server.writes() == [write]
    assert TOKEN not in repr(client.server.log)
