"""What the deployed gate, run by an edge, lets a viewer see."""

from collections.abc import Callable
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbox.edge import Edges
from tests.edge.site import PAGE_TEXT, Site
from tests.edge.viewer import Viewer, eventually

Connect = Callable[[str], Viewer]
ID = "promotion-1"
SECRET = b"not yet public"
_NUMBERS = count(1)

# Each leads, by one reading or another, to /_pending/{key}.
ODD_SPELLINGS = [
    "/_pending/{key}",
    "//_pending/{key}",
    "/_pending//{key}",
    "/./_pending/{key}",
    "/_pending/./{key}",
    "/x/../_pending/{key}",
    "/../_pending/{key}",
    "/%2e/_pending/{key}",
    "/%2E%2e/_pending/{key}",
    "/x/%2e%2e/_pending/{key}",
    "/%5fpending/{key}",
    "/%5Fpending/{key}",
    "/_%70ending/{key}",
    "/%5f%70%65%6e%64%69%6e%67/{key}",
    "/%255fpending/{key}",
    "/_pending%2f{key}",
    "/%2f_pending/{key}",
    "/_pending%5c{key}",
    "/\\_pending/{key}",
    "\\_pending/{key}",
    "/_pending\\{key}",
    "/%5c_pending/{key}",
    "/_PENDING/{key}",
    "/_pending/{key}?x=1",
    "/_pending/{key}#x",
    "/_pending/{key}%",
    "/_pending/{key}%zz",
    "/_pending/{key}%00",
    "/_pending/{key}/",
    "/_pending;/{key}",
    "/%c0%af_pending/{key}",
    "/_pending/{key}\xff",
    "/\xef\xbc\xbfpending/{key}",
    "http://edge.test/_pending/{key}",
    "http://edge.test//_pending/{key}",
    "https://other.test/_pending/{key}",
    "_pending/{key}",
    "*",
]


@pytest.fixture
def key(site: Site, folder: str) -> str:
    """A key whose bytes are pending and which nothing in the store lists yet."""
    key = f"{folder}/a+b.exe"
    site.put(f"_pending/{ID}/{key}", SECRET)
    return key


@pytest.fixture
def hidden(site: Site, shared_edges: Edges, edges: Edges, key: str) -> str:
    """The same, listed in the store by a promotion that is not live."""
    site.write_seen(edges, {f"p:{key}": f"{ID}-{key.split('/')[1].replace('.', '-')}"})
    return key


def promotion_of(key: str) -> str:
    return f"{ID}-{key.split('/')[1].replace('.', '-')}"


def test_a_listed_file_is_hidden_until_its_promotion_is_live(
    site: Site, edges: Edges, viewer: Viewer, hidden: str
) -> None:
    site.put(f"_pending/{promotion_of(hidden)}/{hidden}", SECRET)
    hidden_answer = viewer.get(f"/{hidden}")
    assert (hidden_answer.status, hidden_answer.body) == (404, PAGE_TEXT)
    site.write_seen(edges, {f"s:{promotion_of(hidden)}": "live"})
    # The gate is asked before the cache: the miss of a moment ago has another key.
    served = viewer.get(f"/{hidden}")
    assert (served.status, served.body) == (200, SECRET)
    for spelling in (hidden.replace("+", "%2B"), hidden.replace("a+b", "%61+%62")):
        assert viewer.get(f"/{spelling}").body == SECRET


def test_a_live_file_is_served_at_its_own_address_and_nowhere_else(
    site: Site, edges: Edges, viewer: Viewer, hidden: str
) -> None:
    promotion = promotion_of(hidden)
    site.put(f"_pending/{promotion}/{hidden}", SECRET)
    site.write_seen(edges, {f"s:{promotion}": "live"})
    assert viewer.get(f"/{hidden}").body == SECRET
    elsewhere = [spelling.format(key=f"{promotion}/{hidden}") for spelling in ODD_SPELLINGS]
    elsewhere += [f"//{hidden}", f"/{hidden}/", f"/./{hidden}", f"/x/../{hidden}", f"/{hidden.upper()}"]
    for path in elsewhere:
        answer = viewer.get(path)
        assert answer.status in {400, 404}, path
        assert SECRET not in answer.body
        if "connection" in answer.headers and answer.headers["connection"] == "close":
            viewer.close()
            viewer = Viewer(edges.urls[0])
    viewer.close()


@pytest.mark.parametrize("spelling", ODD_SPELLINGS)
def test_no_spelling_of_a_pending_url_is_answered(
    edges: Edges, connect: Connect, key: str, spelling: str
) -> None:
    for method in ("GET", "HEAD"):
        for url in edges.urls:
            answer = connect(url).ask(method, spelling.format(key=f"{ID}/{key}"))
            assert answer.status in {400, 404}
            assert SECRET not in answer.body


@st.composite
def pending_spellings(draw: st.DrawFn) -> str:
    """Spell /_pending/… in all ways that anything on the way might undo."""
    letters = [
        draw(
            st.sampled_from(
                [letter, letter, f"%{ord(letter):02x}", f"%{ord(letter):02X}", f"%25{ord(letter):x}"]
            )
        )
        for letter in "_pending"
    ]
    junk = st.sampled_from(
        ["/", "//", "/./", "/x/../", "/%2e/", "/%2E./", "/x%2f..%2f", "\\", "/%5c", "/?", "/;"]
    )
    before = draw(st.lists(junk, min_size=1, max_size=3))
    after = draw(junk)
    return "/" + "".join(before).lstrip("/") + "".join(letters) + after


@given(spelling=pending_spellings())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_generated_spelling_of_a_pending_url_is_answered(
    shared_edges: Edges, site: Site, spelling: str
) -> None:
    site.put(f"_pending/{ID}/secret.exe", SECRET)
    viewer = Viewer(shared_edges.urls[0])
    try:
        answer = viewer.get(f"{spelling}{ID}/secret.exe")
        assert answer.status in {400, 404}
        assert SECRET not in answer.body
    finally:
        viewer.close()


def test_a_withdrawn_file_is_gone(site: Site, edges: Edges, viewer: Viewer, hidden: str) -> None:
    site.put(hidden, b"placed")
    site.write_seen(edges, {f"s:{promotion_of(hidden)}": "withdrawn"})
    answer = viewer.get(f"/{hidden}")
    assert (answer.status, answer.body, answer.cache) == (410, b"", "FunctionGeneratedResponse")
    assert answer.headers["cache-control"] == "no-store"
    # It is not kept either.
    site.write_seen(edges, {f"p:{hidden}": None})
    assert viewer.get(f"/{hidden}").body == b"placed"


def test_a_folder_is_served_by_its_index_where_the_store_says_so(
    site: Site, edges: Edges, viewer: Viewer, folder: str
) -> None:
    site.put(f"{folder}/index.html", b"index")
    assert viewer.get(f"/{folder}/").status == 404
    site.write_seen(edges, {f"d:{folder}": "1"})
    assert viewer.get(f"/{folder}/").body == b"index"
    slashless = viewer.get(f"/{folder}")
    assert (slashless.status, slashless.headers["location"]) == (301, f"/{folder}/")
    assert slashless.headers["cache-control"] == "public, max-age=300"


def test_the_root_object_comes_in_after_the_function(site: Site, edges: Edges, viewer: Viewer) -> None:
    site.put("index.html", b"root", "no-store")
    assert viewer.get("/").body == b"root"
    site.delete("index.html")
    assert viewer.get("/").status == 404


def test_an_alias_leads_to_its_prefix(site: Site, edges: Edges, viewer: Viewer, folder: str) -> None:
    site.put(f"{folder}/a.exe", b"x")
    name = f"ftp{next(_NUMBERS)}"
    site.write_seen(edges, {f"a:{name}": folder})
    assert viewer.get(f"/{name}/a.exe").body == b"x"


def test_one_key_flips_many_files_within_an_edge(
    site: Site, edges: Edges, viewer: Viewer, folder: str
) -> None:
    promotion = f"many-{folder.split('.')[1]}"
    keys = [f"{folder}/{number}.exe" for number in range(10)]
    for key in keys:
        site.put(f"_pending/{promotion}/{key}", key.encode())
    site.write_seen(edges, {f"p:{key}": promotion for key in keys})
    assert {viewer.get(f"/{key}").status for key in keys} == {404}
    site.write({f"s:{promotion}": "live"})
    assert eventually(lambda: viewer.get(f"/{keys[-1]}").status == 200)
    assert [viewer.get(f"/{key}").body for key in keys] == [key.encode() for key in keys]
