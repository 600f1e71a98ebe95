"""What holds for every path and every state of the store, tried by hypothesis."""

import re
from collections.abc import Iterator
from urllib.parse import unquote_to_bytes

import pytest
from gate_engine import Answer, Gate, Store
from hypothesis import given, settings
from hypothesis import strategies as st
from py_mini_racer import mini_racer

IDS = ["0f5c8a7b6e4d3c2b1a09f8e7d6c5b4a3", "1" * 32, "_pending", "..", "", "a/b"]
KEYS = ["python/3.14.0/f.exe", "python/3.14.0/a+b", "f", "x/index.html", "index.html"]
PENDING = b"_pending/"

WORDS = """
_pending %5Fpending _%70ending _Pending python 3.14.0 f.exe a+b f x index.html
. .. %2e %2E%2e %252e % %zz %ff %c0%af %00 + %2B ~ ;
"""
words = st.sampled_from(["", " ", *WORDS.split(), *IDS])
slashes = st.sampled_from(["/", "/", "/", "//", "%2F", "%2f", "\\", "%5C", "%252F"])
pieces = st.lists(st.one_of(words, slashes, st.text(max_size=4)), max_size=12).map("".join)
paths = st.one_of(
    pieces,
    pieces.map(lambda path: f"/{path}"),
    st.sampled_from(KEYS).map(lambda key: f"/{key}"),
    st.builds("/_pending/{}/{}".format, st.sampled_from(IDS), st.sampled_from(KEYS)),
)

names = st.one_of(st.sampled_from(KEYS), st.sampled_from(["python", "python/3.14.0", "x", "", "_pending"]))
entries = st.one_of(
    st.tuples(names.map(lambda name: f"p:{name}"), st.sampled_from(IDS)),
    st.tuples(
        st.sampled_from(IDS).map(lambda name: f"s:{name}"),
        st.sampled_from(["live", "live", "withdrawn", "", "LIVE"]),
    ),
    st.tuples(
        names.map(lambda name: f"a:{name}"), st.one_of(names, st.sampled_from([f"_pending/{IDS[0]}", ".."]))
    ),
    st.tuples(names.map(lambda name: f"d:{name}"), st.just("1")),
)
stores = st.builds(
    Store,
    st.lists(entries, max_size=10).map(dict),
    st.lists(st.sampled_from(["p:", "s:", "a:", "d:", ""]), max_size=1),
)

thorough = settings(max_examples=1000, deadline=None, database=None)


@pytest.fixture(scope="module")
def gate() -> Iterator[Gate]:
    with mini_racer() as engine:
        yield Gate(engine)


def readings(uri: str) -> Iterator[bytes]:
    """Every key that an origin might take `uri` for: S3's reading first, then those of laxer ones."""
    path = uri.encode("utf-8", "surrogatepass").removeprefix(b"/")
    for plain in (path, path.replace(b"+", b" ")):
        key = unquote_to_bytes(plain)
        yield key
        slashed = re.sub(rb"[/\\]+", b"/", key)
        yield slashed.lstrip(b"/")
        resolved: list[bytes] = []
        for segment in slashed.split(b"/"):
            if segment == b"..":
                del resolved[-1:]
            elif segment not in {b"", b"."}:
                resolved.append(segment)
        yield b"/".join(resolved)


def is_listed_and_live(key: bytes, store: Store) -> bool:
    name, _, public = key.removeprefix(PENDING).decode("ascii").partition("/")
    return store.entries.get(f"p:{public}") == name and store.entries.get(f"s:{name}") == "live"


def encode(key: str, choices: list[bool]) -> str:
    """Spell some letters of a key as percent codes, in either case."""
    return "".join(
        (f"%{ord(letter):02x}" if index % 2 else f"%{ord(letter):02X}") if chosen else letter
        for index, (letter, chosen) in enumerate(zip(key, choices, strict=True))
    )


@thorough
@given(uri=paths, store=stores)
def test_no_request_reaches_a_hidden_copy_unless_it_is_listed_and_live(
    gate: Gate, uri: str, store: Store
) -> None:
    answer = gate.ask(uri, store)
    hidden = [key for key in readings(answer.uri) if key == PENDING[:-1] or key.startswith(PENDING)]
    assert all(is_listed_and_live(key, store) for key in hidden)
    if hidden:
        assert not set(store.broken) & {"p:", "s:", ""}


@thorough
@given(uri=paths, store=stores)
def test_a_store_that_fails_leaves_every_path_what_it_is(gate: Gate, uri: str, store: Store) -> None:
    answer = gate.ask(uri, Store(store.entries, broken=[""]))
    before, after = next(readings(uri.replace("+", "%2B"))), next(readings(answer.uri))
    assert answer.status == 0
    assert after in {before, b"~"}


@thorough
@given(data=st.data(), key=st.sampled_from(KEYS), store=stores)
def test_every_spelling_of_a_key_is_answered_alike(
    gate: Gate, data: st.DataObject, key: str, store: Store
) -> None:
    choices = data.draw(st.lists(st.booleans(), min_size=len(key), max_size=len(key)))
    plain, spelt = gate.ask_all([f"/{key}", f"/{encode(key, choices)}"], store)
    assert plain == spelt


@thorough
@given(uri=paths, store=stores)
def test_what_the_gate_answers_itself_is_a_redirect_here_or_gone(gate: Gate, uri: str, store: Store) -> None:
    answer: Answer = gate.ask(uri, store)
    assert answer.status in {0, 301, 410}
    assert len(answer.reads) <= 6
    if answer.status == 301:
        assert re.fullmatch(
            r"/[A-Za-z0-9._+-][^\\]*/", answer.headers["location"]["value"].replace("%2B", "+")
        )
    if answer.status == 410:
        assert "withdrawn" in store.entries.values()
