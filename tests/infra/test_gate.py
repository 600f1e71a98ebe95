"""The gate, one spelling and one state of the store at a time; `test_gate_properties` tries all of them."""

import re
import time
from collections.abc import Iterator

import pytest
from gate_engine import IMPORT, SOURCE, Gate, Store
from py_mini_racer import mini_racer

ID = "0f5c8a7b6e4d3c2b1a09f8e7d6c5b4a3"
KEY = "python/3.14.0/python-3.14.0b3-amd64.exe"
PLUS = "python/3.14.0/a+b.txt"
HIDDEN = f"/_pending/{ID}/{KEY}"
NOWHERE = "/~"

LISTED = {f"p:{KEY}": ID, f"p:{PLUS}": ID}
LIVE = Store({**LISTED, f"s:{ID}": "live"})
WITHDRAWN = Store({**LISTED, f"s:{ID}": "withdrawn"})
# Everything that an edge may hold while a promotion is not live for it.
NOT_LIVE = {
    "empty": Store(),
    "listed": Store(LISTED),
    "state alone": Store({f"s:{ID}": "live"}),
    "listed for another": Store({f"p:{KEY}": "another", f"s:{ID}": "live"}),
    "unknown state": Store({**LISTED, f"s:{ID}": "LIVE"}),
    "state with a blank": Store({**LISTED, f"s:{ID}": "live "}),
    "state is no text": Store({**LISTED, f"s:{ID}": True}),
    "empty id": Store({f"p:{KEY}": "", "s:": "live"}),
    "id leads elsewhere": Store({f"p:{KEY}": f"../{ID}", f"s:../{ID}": "live"}),
    "id is no text": Store({f"p:{KEY}": None, "s:null": "live", "s:None": "live"}),
    "all reads fail": Store(LIVE.entries, broken=[""]),
    "path keys fail": Store(LIVE.entries, broken=["p:"]),
    "states fail": Store(LIVE.entries, broken=["s:"]),
}

# Spellings that S3 decodes to the same key.
SAME = [
    f"/{KEY}",
    f"/{KEY.replace('3', '%33')}",
    f"/{KEY.replace('/', '%2F')}",
    f"/{KEY.replace('/', '%2f')}",
    f"/{KEY.replace('.', '%2E')}",
    f"/{KEY.replace('y', '%79')}",
    "/" + "".join(f"%{ord(letter):02x}" for letter in KEY),
    "/" + "".join(f"%{ord(letter):02X}" for letter in KEY),
]
# Spellings of something else. They may resemble it, and some proxies take them for it; S3 does not.
OTHER = [
    f"//{KEY}",
    f"/%2F{KEY}",
    f"/./{KEY}",
    f"/x/../{KEY}",
    f"/%2e/{KEY}",
    f"/{KEY.replace('/', '//', 1)}",
    f"/{KEY.replace('/', '%5C', 1)}",
    f"/{KEY.replace('.', '%252E', 1)}",
    f"/{KEY.replace('/', '%252F', 1)}",
    f"/{KEY}.",
    f"/{KEY}%20",
    f"/{KEY}%00",
    f"/{KEY};a=b",
    f"/{KEY}%3Fversion=1",
    f"/{KEY}%23x",
    f"/{KEY}%",
    f"/{KEY}%z",
    f"/{KEY}%FF",
    f"/{KEY}%C0%AF",
    f"/{KEY.upper()}",
    f"/{KEY}é",
]
# Everything that could be taken for the hidden part, by S3 or by anybody.
FORBIDDEN = [
    HIDDEN,
    "/_pending",
    "/_pending/",
    f"/%5Fpending/{ID}/{KEY}",
    f"/%5fpending/{ID}/{KEY}",
    f"/_%70ending/{ID}/{KEY}",
    f"/_pending%2F{ID}%2f{KEY}",
    f"/%2F_pending/{ID}/{KEY}",
    f"//_pending/{ID}/{KEY}",
    f"/./_pending/{ID}/{KEY}",
    f"/.//./_pending/{ID}/{KEY}",
    f"/x/../_pending/{ID}/{KEY}",
    f"/x/%2e%2E/_pending/{ID}/{KEY}",
    f"/../_pending/{ID}/{KEY}",
    f"/_pending/../{KEY}",
    f"/\\_pending\\{ID}",
    f"/%5C_pending/{ID}",
    f"/_pending/{ID}/%",
    f"/_pending/{ID}/%FF",
    f"/_pending/{ID}/" + "x" * 9000,
    "/" + "%5F" * 1100,
]


@pytest.fixture(scope="module")
def gate() -> Iterator[Gate]:
    with mini_racer() as engine:
        yield Gate(engine)


@pytest.mark.parametrize("uri", SAME)
def test_a_live_key_is_served_from_its_hidden_copy_however_it_is_spelt(gate: Gate, uri: str) -> None:
    assert gate.ask(uri, LIVE).uri == HIDDEN


@pytest.mark.parametrize("uri", SAME)
def test_a_withdrawn_key_is_gone_however_it_is_spelt(gate: Gate, uri: str) -> None:
    answer = gate.ask(uri, WITHDRAWN)
    assert answer.status == 410
    assert answer.headers["cache-control"]["value"] == "no-store"


@pytest.mark.parametrize("state", NOT_LIVE)
@pytest.mark.parametrize("uri", SAME)
def test_nothing_is_early_whatever_the_store_holds(gate: Gate, uri: str, state: str) -> None:
    answer = gate.ask(uri, NOT_LIVE[state])
    assert answer.uri == f"/{KEY}"


@pytest.mark.parametrize("store", [Store(), LIVE, WITHDRAWN], ids=["empty", "live", "withdrawn"])
def test_another_path_passes_as_it_came(gate: Gate, store: Store) -> None:
    assert [answer.uri for answer in gate.ask_all(OTHER, store)] == OTHER


@pytest.mark.parametrize("store", [Store(), LIVE, WITHDRAWN], ids=["empty", "live", "withdrawn"])
@pytest.mark.parametrize("uri", FORBIDDEN)
def test_the_hidden_part_is_never_addressed(gate: Gate, uri: str, store: Store) -> None:
    answer = gate.ask(uri, store)
    assert answer.uri == NOWHERE
    assert answer.reads == ()


@pytest.mark.parametrize("uri", ["/%255Fpending/x", "/_pending2/x", "/python/_pending/x", "/_Pending/x"])
def test_a_path_that_only_resembles_the_hidden_part_is_another_path(gate: Gate, uri: str) -> None:
    assert gate.ask(uri, LIVE).uri == uri


@pytest.mark.parametrize("uri", [f"/{PLUS}", f"/{PLUS.replace('+', '%2B')}", f"/{PLUS.replace('+', '%2b')}"])
def test_a_plus_is_a_plus_before_and_after_the_gate_lists_it(gate: Gate, uri: str) -> None:
    # S3 takes a bare plus for a blank, so that a file would blink when its entry is dropped.
    spelt = PLUS.replace("+", "%2B")
    assert gate.ask(uri, LIVE).uri == f"/_pending/{ID}/{spelt}"
    assert gate.ask(uri).uri == f"/{spelt}"
    assert gate.ask(uri, WITHDRAWN).status == 410


@pytest.mark.parametrize("method", ["HEAD", "POST", "PUT", "DELETE", "OPTIONS"])
def test_the_method_changes_nothing(gate: Gate, method: str) -> None:
    assert gate.ask(f"/{KEY}", LIVE, method=method).uri == HIDDEN
    assert gate.ask(f"/{KEY}", method=method).uri == f"/{KEY}"
    assert gate.ask(HIDDEN, LIVE, method=method).uri == NOWHERE


@pytest.mark.parametrize("state", ["live", "withdrawn", ""])
def test_a_key_at_the_limit_is_gated_and_a_longer_one_is_none(gate: Gate, state: str) -> None:
    longest = "python/" + "x" * (480 - len("python/"))
    store = Store({f"p:{longest}": ID, f"p:{longest}x": ID, f"s:{ID}": state})
    gated = gate.ask(f"/{longest}", store)
    assert (gated.uri, gated.status) in {(f"/_pending/{ID}/{longest}", 0), ("", 410), (f"/{longest}", 0)}
    assert max(len(read) for read in gated.reads) <= 512
    assert gate.ask(f"/{longest}x", store).uri == f"/{longest}x"


def test_a_folder_with_an_index_is_served_by_it(gate: Gate) -> None:
    store = Store({"d:python/3.14.0": "1", "d:": "1"})
    assert gate.ask("/python/3.14.0/", store).uri == "/python/3.14.0/index.html"
    assert gate.ask("/python/3%2E14.0%2F", store).uri == "/python/3.14.0/index.html"
    assert gate.ask("/", store).uri == "/index.html"


def test_a_folder_without_an_index_passes(gate: Gate) -> None:
    assert gate.ask("/python/3.14.0/").uri == "/python/3.14.0/"
    # The distribution has a default for the root.
    assert gate.ask("/").uri == "/"


def test_a_folder_that_lacks_its_slash_is_redirected_if_it_has_an_index(gate: Gate) -> None:
    store = Store({"d:python/3.14.0": "1"})
    answer = gate.ask("/python/3%2e14.0", store)
    assert answer.status == 301
    assert answer.headers["location"]["value"] == "/python/3.14.0/"
    assert gate.ask("/python/3.13.0", store).uri == "/python/3.13.0"


@pytest.mark.parametrize(
    "uri", ["//evil.example", "/%2Fevil.example", "/\\evil.example", "//evil.example/.."]
)
def test_no_redirect_leads_to_another_site(gate: Gate, uri: str) -> None:
    store = Store({"d:evil.example": "1", "d:/evil.example": "1", "d:\\evil.example": "1"})
    assert gate.ask(uri, store).uri == uri


def test_an_index_page_can_be_gated_too(gate: Gate) -> None:
    page = "python/3.14.0/index.html"
    store = {"d:python/3.14.0": "1", f"p:{page}": ID}
    assert gate.ask("/python/3.14.0/", Store(store)).uri == f"/{page}"
    assert gate.ask("/python/3.14.0/", Store({**store, f"s:{ID}": "live"})).uri == f"/_pending/{ID}/{page}"
    assert gate.ask("/python/3.14.0/", Store({**store, f"s:{ID}": "withdrawn"})).status == 410


FOLDER, NAME = KEY.rsplit("/", 1)
PAGE = f"{FOLDER}/index.html"
# A withdrawn file in a folder that has a page: what stays of the release is still to be found.
ONE_FILE_GONE = Store({**WITHDRAWN.entries, f"d:{FOLDER}": "1", "a:latest": FOLDER, "a:ftp": ""})
# A release that is gone with its page, as long as the folder's entry is still there.
ALL_GONE = Store({**ONE_FILE_GONE.entries, f"p:{PAGE}": ID})


@pytest.mark.parametrize(
    "uri", [f"/{FOLDER}/", "/latest/", f"/ftp/{FOLDER}/", f"/{PAGE}", "/latest/index.html"]
)
def test_the_page_of_a_folder_outlives_a_file_that_is_withdrawn(gate: Gate, uri: str) -> None:
    assert gate.ask(uri, ONE_FILE_GONE).uri == f"/{PAGE}"
    assert gate.ask(uri, ALL_GONE).status == 410


@pytest.mark.parametrize("uri", [f"/{KEY}", f"/latest/{NAME}", f"/ftp/{KEY}", f"/latest%2F{NAME}"])
def test_a_withdrawn_file_is_gone_by_each_of_its_names_though_its_folder_has_a_page(
    gate: Gate, uri: str
) -> None:
    assert gate.ask(uri, ONE_FILE_GONE).status == 410
    assert gate.ask(uri, Store({**ONE_FILE_GONE.entries, f"s:{ID}": "live"})).uri == HIDDEN


@pytest.mark.parametrize("uri", [f"/{FOLDER}", "/latest", f"/ftp/{FOLDER}"])
def test_the_redirect_to_a_folder_is_the_same_whatever_is_withdrawn_in_it(gate: Gate, uri: str) -> None:
    for store in (ONE_FILE_GONE, ALL_GONE):
        answer = gate.ask(uri, store)
        assert (answer.status, answer.headers["location"]["value"]) == (301, f"{uri}/")


def test_a_file_that_is_listed_is_no_folder_even_if_it_has_the_name_of_one(gate: Gate) -> None:
    store = Store({**WITHDRAWN.entries, f"d:{KEY}": "1"})
    assert gate.ask(f"/{KEY}", store).status == 410
    assert gate.ask(f"/{KEY}", Store({f"d:{KEY}": "1"})).status == 301


def test_what_another_promotion_brings_to_the_folder_is_not_withdrawn_with_the_first(gate: Gate) -> None:
    other = f"{FOLDER}/python-3.14.0b3-arm64.exe"
    store = Store({**ALL_GONE.entries, f"p:{other}": "another", "s:another": "live"})
    assert gate.ask(f"/{other}", store).uri == f"/_pending/another/{other}"
    assert gate.ask(f"/{KEY}", store).status == 410
    # Of a restored one the state goes first, and nothing is gone any more.
    restored = Store({key: value for key, value in store.entries.items() if key != f"s:{ID}"})
    assert gate.ask(f"/{KEY}", restored).uri == f"/{KEY}"
    assert gate.ask(f"/{FOLDER}/", restored).uri == f"/{PAGE}"


@pytest.mark.parametrize(
    ("alias", "uri"),
    [
        ({"a:ftp": ""}, f"/ftp/{KEY}"),
        ({"a:ftp": "/"}, f"/ftp/{KEY}"),
        ({"a:ftp/python": "python"}, f"/ftp/{KEY}"),
        ({"a:ftp": "wrong", "a:ftp/python": "python/"}, f"/ftp/{KEY}"),
        ({"a:latest": "python/3.14.0"}, f"/latest/{KEY.rsplit('/', 1)[1]}"),
        ({"a:latest.exe": KEY}, "/latest.exe"),
        ({"a:ftp": ""}, f"/%66tp/{KEY}"),
    ],
)
def test_an_alias_is_another_name_of_the_same_key(gate: Gate, alias: dict[str, str], uri: str) -> None:
    assert gate.ask(uri, Store({**LIVE.entries, **alias})).uri == HIDDEN
    assert gate.ask(uri, Store({**WITHDRAWN.entries, **alias})).status == 410
    assert gate.ask(uri, Store({**LISTED, **alias})).uri == f"/{KEY}"


def test_an_alias_is_followed_once(gate: Gate) -> None:
    assert gate.ask("/a/x", Store({"a:a": "b", "a:b": "c"})).uri == "/b/x"
    assert gate.ask("/a/x", Store({"a:a": "a"})).uri == "/a/x"


@pytest.mark.parametrize("target", ["_pending", f"_pending/{ID}", f"/_pending/{ID}/"])
def test_an_alias_cannot_lead_into_the_hidden_part(gate: Gate, target: str) -> None:
    store = Store({**LIVE.entries, "a:way": target})
    assert gate.ask(f"/way/{KEY}", store).uri == NOWHERE
    assert gate.ask(f"/way/{ID}/{KEY}", store).uri == NOWHERE


@pytest.mark.parametrize("target", ["..", "./x", "x//y", "x/../_pending", "a b", "é", "x" * 490])
def test_an_alias_to_what_is_no_key_is_ignored(gate: Gate, target: str) -> None:
    assert gate.ask(f"/way/{KEY}", Store({"a:way": target})).uri == f"/way/{KEY}"


def test_an_alias_of_a_folder_keeps_the_viewers_path_in_a_redirect(gate: Gate) -> None:
    store = Store({"a:ftp": "", "d:python": "1", "d:": "1"})
    assert gate.ask("/ftp/python", store).headers["location"]["value"] == "/ftp/python/"
    assert gate.ask("/ftp", store).headers["location"]["value"] == "/ftp/"
    assert gate.ask("/ftp/", store).uri == "/index.html"
    assert gate.ask("/ftp/python/", store).uri == "/python/index.html"
    assert gate.ask("/ftp", Store({"a:ftp": ""})).uri == "/ftp"


def test_a_request_needs_few_reads(gate: Gate) -> None:
    deep = "a/b/c/d/e/f.txt"
    gated = Store({f"p:{deep}": ID, f"s:{ID}": "live"})
    assert gate.ask(f"/{deep}", gated).reads == ("a:a/b/c", "a:a/b", "a:a", f"p:{deep}", f"s:{ID}")
    # As many as for a key that is not listed, so that the clock does not tell them apart.
    assert len(gate.ask(f"/{deep}").reads) == 5
    index = Store({"d:a/b/c/d": "1", "p:a/b/c/d/index.html": ID})
    assert len(gate.ask("/a/b/c/d/", index).reads) == 6
    assert gate.ask("/no key/", gated).reads == ()


def test_the_function_fits_the_limits_of_its_runtime() -> None:
    assert len(SOURCE.encode()) < 10_240
    assert SOURCE.isascii()
    assert [line for line in SOURCE.splitlines() if line.startswith("import")] == [IMPORT]


@pytest.mark.parametrize(
    "syntax",
    [
        r"\?\.",
        r"\?\?",
        r"\.\.\.",
        r"\bclass\b",
        r"\bof\b",
        r"\byield\b",
        r"\b(const|let|var)\s*[\[{]",
        r"\bfunction\s*\*",
        r"\basync\s*\(",
        r"\basync\s+\w+\s*=>",
        r"\bPromise\b",
        r"\.then\(",
        r"\brequire\(",
        r"\beval\(",
        r"\bfunction[^)]*=",
    ],
)
def test_the_function_uses_no_syntax_that_its_runtime_lacks(syntax: str) -> None:
    code = re.sub(r"^\s*//.*$", "", SOURCE, flags=re.MULTILINE)
    assert not re.search(syntax, code)


def test_hostile_paths_take_no_time(gate: Gate) -> None:
    hostile = ["/" + "a/" * 1500, "/" + "%41" * 1024, "/" + "../" * 1000, "/" + "a." * 1500, "/" + "%" * 3000]
    began = time.perf_counter()
    gate.ask_all(hostile * 20, LIVE)
    assert time.perf_counter() - began < 5
