"""Index pages: what they show, in which order, and that programs which read nginx's listings read them."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from random import Random
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from publisher.core.pages import (
    ROOT,
    Entry,
    ObjectFacts,
    affected_folders,
    list_folder,
    list_tree,
    make_page_keys,
)
from publisher.core.pages_order import make_order_key
from publisher.core.pages_render import is_ours, read_generation, render_html, render_json
from publisher.core.urls import make_path

DATA = Path(__file__).parents[1] / "data"
LISTING = tuple((DATA / "cpython-3.14.0-ftp-names.txt").read_text("utf-8").splitlines())
NGINX = (DATA / "pages/nginx-autoindex.html").read_text("utf-8")
RELEASE = "python/3.14.0"
WHEN = datetime(2025, 10, 7, 9, 34, 59, tzinfo=UTC)
# What may stand in a key of ours, and what only a tree that was there before may hold.
NAMES = st.from_regex(r"[A-Za-z0-9.+-][A-Za-z0-9._+-]{0,40}", fullmatch=True)
STRANGE_NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="/"), min_size=1)


def some_facts(size: int = 7, modified: datetime = WHEN) -> ObjectFacts:
    return ObjectFacts(size, modified)


def some_objects(*keys: str) -> Mapping[str, ObjectFacts]:
    return dict.fromkeys(keys, some_facts())


def show_all(key: str) -> bool:
    return False


def list_names(folder: str, *keys: str) -> list[str]:
    entries = list_folder(folder, some_objects(*keys), is_hidden=show_all)
    return [entry.name + "/" * entry.folder for entry in entries]


def some_page(*entries: Entry, folder: str = RELEASE, title: str = "") -> str:
    return render_html(folder, entries, generation=1, title=title).decode()


def a_file(name: str = "a.tgz", size: int = 7, modified: datetime | None = WHEN) -> Entry:
    return Entry(name, size, modified)


def find_line(page: str, label: str) -> str:
    """Give the rest of the line after the link that reads `label`."""
    return page.partition(f">{label}</a>")[2].partition("\n")[0]


class Reader(HTMLParser):
    """Read a page's links as browsers do: their targets, their texts, and whether a `<pre>` holds them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[tuple[str, str, bool]] = []
        self._open: tuple[str, bool] | None = None
        self._text = ""
        self._in_pre = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "pre":
            self._in_pre = True
        if tag == "a":
            self._open, self._text = (dict(attrs)["href"] or "", self._in_pre), ""

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "pre":
            self._in_pre = False
        if tag == "a" and self._open:
            self.links.append((self._open[0], self._text, self._open[1]))


# The order.

ORDERED = (
    ("3.9", "3.10", "3.10.1", "3.10.2", "3.10.10", "3.11"),
    ("1.0.dev3", "1.0a1", "1.0a2", "1.0a10", "1.0b1", "1.0rc1", "1.0rc2", "1.0", "1.0.post1", "1.0.1"),
    ("Python-3.14.0a1.tgz", "Python-3.14.0b1.tgz", "Python-3.14.0rc1.tgz", "Python-3.14.0.tgz"),
    ("v2-alpha1.zip", "v2-beta.2.zip", "v2-beta.10.zip", "v2_preview_1.zip", "v2.zip", "v2.1.zip"),
    ("x-1.0c1", "x-1.0rc2", "x-1.0pre3", "x-1.0"),
    ("x-1.0.tgz", "x-1.0.tgz.sig", "x-1.0.post2.tgz", "x-1.0.post10.tgz", "x-1.0.1.tgz"),
    ("amd64a1", "amd64b3", "amd64rc1", "amd64", "arm64a1", "arm64"),
    ("Python-3.1.tgz", "python-3.1.tgz", "Python-3.2.tgz", "python-3.2.tgz"),
    ("2.0", "3.0", "doc", "latest"),
    ("a", "a1", "a2", "a10", "aa", "b"),
    ("01", "1", "2"),
)


@pytest.mark.parametrize("names", ORDERED, ids=lambda names: names[0])
def test_names_stand_in_the_order_that_people_expect_of_versions(names: tuple[str, ...]) -> None:
    for seed in range(5):
        shuffled = Random(seed).sample(names, len(names))

        assert tuple(sorted(shuffled, key=make_order_key)) == names


def test_a_word_after_a_number_is_a_pre_release_only_with_a_number_of_its_own() -> None:
    assert sorted(["x-3.1-amd64", "x-3.1-a64", "x-3.1"], key=make_order_key) == [
        "x-3.1-a64",
        "x-3.1",
        "x-3.1-amd64",
    ]


@given(st.lists(STRANGE_NAMES | NAMES, unique=True))
def test_no_two_names_have_the_same_place_so_every_listing_has_one_order(names: list[str]) -> None:
    shuffled = Random(1).sample(names, len(names))

    assert sorted(names, key=make_order_key) == sorted(shuffled, key=make_order_key)
    assert len({make_order_key(name) for name in names}) == len(names)


# What a page shows.


def test_a_folder_shows_its_files_and_the_folders_right_below_folders_first() -> None:
    keys = ("python/3.9.1/x", "python/3.10.0/amd64/y", "python/README", "python/3.10.0/z", "python/1.txt")

    assert list_names("python", *keys) == ["3.9.1/", "3.10.0/", "1.txt", "README"]
    assert list_names("python/3.10.0", *keys) == ["amd64/", "z"]
    assert list_names(ROOT, *keys) == ["python/"]


def test_a_files_facts_are_its_own_and_a_folders_time_is_that_of_its_newest_file() -> None:
    objects = {
        "a/old": some_facts(5, WHEN),
        "a/b/new": some_facts(6, WHEN + timedelta(days=2)),
        "a/b/c/newest": some_facts(7, WHEN + timedelta(days=3)),
        "a/b/older": some_facts(8, WHEN - timedelta(days=1)),
    }

    assert list_folder("a", objects, is_hidden=show_all) == (
        Entry("b", None, WHEN + timedelta(days=3), folder=True),
        Entry("old", 5, WHEN),
    )


@pytest.mark.parametrize(
    "key",
    ["a/index.html", "a/index.json", "a/", "a//x", "a/./x", "a/../x", "a/b/../x", "_pending/1/x", "_x", "/x"],
)
def test_pages_reserved_names_and_what_no_link_leads_to_are_not_shown(key: str) -> None:
    assert list_names("a", key, "a/shown") == ["shown"]
    assert list_names(ROOT, key) == []
    assert affected_folders([key]) == ()


@pytest.mark.parametrize("key", ["a/index.htm", "a/index.html.sig", "a/_static/x", "a/..x", "a/_x", "a/.x"])
def test_names_that_only_look_reserved_are_shown(key: str) -> None:
    assert list_names(ROOT, key) == ["a/"]
    assert list_names("a", key) == [key.split("/")[1] + "/" * (key.count("/") > 1)]
    assert affected_folders([key])[-1] == ROOT


def test_what_is_hidden_shows_nowhere_and_a_folder_of_nothing_else_is_gone() -> None:
    objects = {
        "a/x": some_facts(),
        "a/b/y": some_facts(modified=WHEN + timedelta(days=9)),
        "a/b/z": some_facts(),
        "a/c/y": some_facts(),
    }

    entries = list_folder("a", objects, is_hidden=lambda key: key.endswith("/y"))

    assert entries == (Entry("b", None, WHEN, folder=True), Entry("x", 7, WHEN))
    assert list_folder("a/c", objects, is_hidden=lambda key: key.endswith("/y")) == ()


def test_a_folder_shows_nothing_of_another_whose_name_begins_alike() -> None:
    assert list_names(
        "python/3.1", "python/3.1/x", "python/3.14/y", "python/3.1.0", "other/python/3.1/z"
    ) == ["x"]
    assert list_names("python/3", "python/3.1/x") == []


def test_the_tree_shows_of_every_folder_what_the_folder_alone_shows() -> None:
    objects = some_objects("x", "a/x", "a/b/c/y", "a/b/z", "a/index.html", "_pending/1/p")

    tree = list_tree(objects, is_hidden=lambda key: key == "a/b/z")

    assert list(tree) == [ROOT, "a", "a/b", "a/b/c"]
    for folder, entries in tree.items():
        assert entries == list_folder(folder, objects, is_hidden=lambda key: key == "a/b/z") != ()


# Which pages a change touches.


def test_a_key_touches_its_folder_and_all_above_the_deepest_first() -> None:
    assert affected_folders(["a/b/c/x", "a/d/y", "a/d/z"]) == ("a/b/c", "a/b", "a/d", "a", ROOT)
    assert affected_folders(["x"]) == (ROOT,)
    assert affected_folders([]) == ()


def test_above_and_beside_the_root_nothing_is_touched() -> None:
    keys = ["pub/python/3.14.0/x", "pub/python2/x", "pub/x", "other/y"]

    assert affected_folders(keys, root="pub/python") == ("pub/python/3.14.0", "pub/python")
    assert affected_folders(keys, root="pub") == ("pub/python/3.14.0", "pub/python", "pub/python2", "pub")


@given(st.sets(st.lists(NAMES, min_size=1, max_size=4).map("/".join), max_size=6), NAMES)
def test_a_folder_that_is_not_touched_has_the_page_it_had(keys: set[str], new: str) -> None:
    before = list_tree(some_objects(*keys), is_hidden=show_all)
    after = list_tree(some_objects(*keys, f"a/{new}"), is_hidden=show_all)

    changed = {folder for folder in after if after[folder] != before.get(folder)}
    assert changed <= set(affected_folders([f"a/{new}"]))


def test_a_folders_pages_lie_in_it() -> None:
    assert make_page_keys(RELEASE) == (f"{RELEASE}/index.html", f"{RELEASE}/index.json")
    assert make_page_keys(ROOT) == ("index.html", "index.json")


# What programs read.


def test_lines_are_those_that_nginx_writes_but_for_names_cut_short_and_the_size_for_people() -> None:
    """Hold ours against what nginx 1.22 answered for a tree of the same names, sizes and times."""
    lines = re.findall(r'<a href="([^"]+)">([^<]+)</a> +(\S+ \S+) +(\S+)\n', NGINX)
    entries = [
        Entry(
            unquote(target).rstrip("/"),
            None if size == "-" else int(size),
            datetime.strptime(date, "%d-%b-%Y %H:%M").replace(tzinfo=UTC),
            folder=target.endswith("/"),
        )
        for target, _, date, size in lines
        if len(target) <= 50
    ]
    page = some_page(*entries)

    assert len(lines) == 8
    assert len(entries) == 7
    ours = re.sub(r" *<span data-size=\"[^\"<]+\"></span>\n", "\n", page.partition("<pre>")[2]).splitlines()
    theirs = NGINX.partition("<pre>")[2].splitlines()
    assert [line for line in theirs if "..&gt;" not in line][:8] == ours[:8]
    assert page.count("<span") == 5


def test_a_page_has_one_pre_and_in_it_its_only_links_up_first_then_one_a_line() -> None:
    entries = list_folder(
        RELEASE, some_objects(*(f"{RELEASE}/{name}" for name in _keys())), is_hidden=show_all
    )
    page = some_page(*entries, title="Python downloads")
    reader = Reader(page)

    assert reader.tags.count("pre") == 1
    assert [text for _, text, _ in reader.links] == ["../", *(e.name + "/" * e.folder for e in entries)]
    assert reader.links[0][0] == "../"
    assert all(inside for _, _, inside in reader.links)
    assert page.count("href=") == len(reader.links)
    body = page.partition("<pre>")[2].partition("</pre>")[0]
    assert all(line.startswith('<a href="') and line.count("<a ") == 1 for line in body.splitlines())
    assert not {"script", "link", "img", "iframe", "form"} & set(reader.tags)


def _keys() -> list[str]:
    """Name files so that a listing of them shows what CPython's server lists of 3.14.0."""
    return [f"{name}core.msi" if name.endswith("/") else name for name in LISTING]


def _read_as_pyenv(page: str, url: str, pattern: str) -> dict[str, str]:
    """Read a page as pyenv/pyenv does in plugins/python-build/scripts/add_cpython.py.

    It takes the first `<pre>`, all links in it but the first (which it takes for `..`), a link's text without
    a trailing slash as the name, keeps names that match a pattern from their start, and joins the link's
    target to the page's URL.
    """
    links = [(target, text) for target, text, inside in Reader(page).links if inside][1:]
    named = [(text.strip().rstrip("/"), urljoin(url, target)) for target, text in links]
    return {name: target for name, target in named if re.match(pattern, name)}


def test_pyenv_finds_all_versions_and_their_folders() -> None:
    versions = [f"3.{minor}.{micro}" for minor in range(9, 15) for micro in range(13)]
    keys = [f"python/{version}/x" for version in versions]
    entries = list_folder("python", some_objects(*keys, "python/doc/x", "python/README"), is_hidden=show_all)

    found = _read_as_pyenv(some_page(*entries, folder="python"), "https://dl.example.org/python/", r"^\d+")

    assert found == {version: f"https://dl.example.org/python/{version}/" for version in versions}


def test_pyenv_finds_all_sources_of_a_release() -> None:
    entries = list_folder(
        RELEASE, some_objects(*(f"{RELEASE}/{name}" for name in _keys())), is_hidden=show_all
    )

    found = _read_as_pyenv(
        some_page(*entries), f"https://dl.example.org/{RELEASE}/", r"Python-.*\.(tar\.xz|tgz)$"
    )

    sources = {name for name in LISTING if name.startswith("Python-") and name.endswith((".tgz", ".tar.xz"))}
    assert len(sources) == 20
    assert found == {name: f"https://dl.example.org/{RELEASE}/{name}" for name in sources}


def _read_as_docker_library(page: str, begin: str, end: str) -> list[str]:
    """Read a page as docker-library/python does in its versions.sh, line by line and without an HTML parser.

    Of the top folder it keeps lines with a link (`<a href="`, spelled just so) whose target begins with the
    series and a dot, and cuts the target out, up to its closing quote and without a slash. Of a release's
    folder it does so with lines whose link begins with `Python-` and the series and ends in `.tar.xz`, right
    before the quote; what lies between is the version. In both, the last such link of a line would win.
    """
    kept = [line for line in page.splitlines() if re.search(f'<a href="{begin}.*{end}"', line)]
    start = "Python-" if begin.startswith("Python-") else ""
    return [re.sub(rf'.*<a href="{start}([^"/]+){end}/?".*', r"\1", line) for line in kept]


@pytest.mark.parametrize("series", ["3.9", "3.10", "3.14"])
def test_docker_library_finds_all_versions_of_a_series(series: str) -> None:
    versions = [f"3.{minor}.{micro}" for minor in (1, 9, 10, 14) for micro in range(13)]
    entries = list_folder("python", some_objects(*(f"python/{v}/x" for v in versions)), is_hidden=show_all)

    found = _read_as_docker_library(some_page(*entries, folder="python"), f"{series}.", "")

    assert found == [version for version in versions if version.startswith(f"{series}.")]
    assert len(found) == 13


def test_docker_library_finds_all_pre_releases_with_a_source_archive() -> None:
    entries = list_folder(
        RELEASE, some_objects(*(f"{RELEASE}/{name}" for name in _keys())), is_hidden=show_all
    )

    found = _read_as_docker_library(some_page(*entries), "Python-3.14", r"\.tar\.xz")

    assert found == [f"3.14.0a{n}" for n in range(1, 8)] + [f"3.14.0b{n}" for n in range(1, 4)]


@given(st.sets(NAMES | STRANGE_NAMES, max_size=8))
def test_every_name_is_shown_whole_and_every_link_leads_to_its_key(names: set[str]) -> None:
    entries = list_folder(RELEASE, some_objects(*(f"{RELEASE}/{name}" for name in names)), is_hidden=show_all)
    links = Reader(some_page(*entries)).links[1:]
    objects = json.loads(render_json(RELEASE, entries, generation=1))["entries"]

    assert [text for _, text, _ in links] == [entry.name for entry in entries]
    for entry, (target, _, _), shown in zip(entries, links, objects, strict=True):
        url = urlsplit(urljoin(f"https://dl.example.org/{RELEASE}/", target))
        assert (url.netloc, url.query, url.fragment) == ("dl.example.org", "", "")
        assert url.path == f"/{make_path(f'{RELEASE}/{entry.name}')}"
        assert unquote(url.path) == f"/{RELEASE}/{entry.name}"
        assert (shown["name"], shown["href"]) == (entry.name, target)


def test_a_plus_is_encoded_in_links_and_shown_as_it_is() -> None:
    page = some_page(Entry("c++", None, WHEN, folder=True), a_file("x-1+2.whl"))

    assert '<a href="c%2B%2B/">c++/</a>' in page
    assert '<a href="x-1%2B2.whl">x-1+2.whl</a>' in page


def test_what_html_would_take_for_markup_is_text_everywhere() -> None:
    name = "<b>&\"'"
    page = some_page(a_file(name), folder=name, title="A & <i>B</i>")

    assert "<b>" not in page
    assert "<i>" not in page
    assert unescape(
        "<title>Index of /&lt;b&gt;&amp;&quot;&#x27;/ - A &amp; &lt;i&gt;B&lt;/i&gt;</title>"
    ) in unescape(page)


# What people read.


@pytest.mark.parametrize(
    ("folder", "title", "shown"),
    [
        (RELEASE, "Python downloads", "Index of /python/3.14.0/ - Python downloads"),
        (RELEASE, "", "Index of /python/3.14.0/"),
        (ROOT, "", "Index of /"),
    ],
)
def test_a_page_names_its_folder_and_its_site(folder: str, title: str, shown: str) -> None:
    page = some_page(folder=folder, title=title)

    assert f"<title>{shown}</title>" in page
    assert f"<h1>{shown.partition(' - ')[0]}</h1>" in page


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (22_673_883, "22.7 MB"),
        (999_949, "999.9 kB"),
        (999_960, "1.0 MB"),
        (999_999_999, "1.0 GB"),
        (5_000_000_000_000, "5.0 TB"),
        (12 * 10**18, "12000.0 PB"),
    ],
)
def test_sizes_are_exact_for_programs_and_readable_for_people(size: int, shown: str) -> None:
    line = find_line(some_page(a_file(size=size)), "a.tgz")

    assert re.fullmatch(rf' +07-Oct-2025 09:34 +{size} +<span data-size="{shown}"></span>', line)


def test_times_are_utc_in_english_whatever_the_zone_and_a_dash_where_unknown() -> None:
    zone = timezone(timedelta(hours=5, minutes=30))
    months = [
        a_file(f"{month:02}", modified=datetime(2025, month, 1, 2, tzinfo=zone)) for month in range(1, 13)
    ]
    page = some_page(*months, a_file("none", modified=None), Entry("dir", None, None, folder=True))

    dates = [find_line(page, entry.name).split()[:2] for entry in months]
    expected = "31-Dec-2024 31-Jan-2025 28-Feb 31-Mar 30-Apr 31-May 30-Jun 31-Jul 31-Aug 30-Sep 31-Oct 30-Nov"
    assert [date[:6] for date, _ in dates] == [word[:6] for word in expected.split()]
    assert [date[7:] for date, _ in dates] == ["2024"] + ["2025"] * 11
    assert {time for _, time in dates} == {"20:30"}
    assert find_line(page, "none").split()[:2] == ["-", "7"]
    assert find_line(page, "dir/").split() == ["-", "-"]


def test_columns_stand_under_each_other_up_to_a_width_and_names_are_never_cut() -> None:
    names = ("a", "b" * 60, "c" * 72, "d" * 73, "e" * 300)
    page = some_page(*map(a_file, names))
    widths = [len(name) + len(find_line(page, name).partition("07-Oct")[0]) for name in names]

    assert widths == [73, 73, 73, 74, 301]
    assert len(find_line(some_page(a_file("a")), "a").partition("07-Oct")[0]) == 50


@pytest.mark.parametrize(
    ("entries", "shown"),
    [
        ((), "0 files."),
        ((a_file(size=1),), "1 file, 1 byte."),
        ((Entry("d", None, WHEN, folder=True),), "1 folder."),
        ((Entry("d", None, WHEN, folder=True), a_file(), a_file("b", 2000)), "1 folder and 2 files, 2.0 kB."),
        (tuple(Entry(str(n), None, WHEN, folder=True) for n in range(1200)), "1,200 folders."),
    ],
)
def test_a_page_says_how_much_it_shows(entries: tuple[Entry, ...], shown: str) -> None:
    assert f"<p>{shown} Times are UTC" in some_page(*entries)


def test_the_policy_allows_the_pages_own_style_and_no_script() -> None:
    page = some_page(a_file())
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()

    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]+)">', page)
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}'; ")
    assert "script" not in page
    assert "style=" not in page
    assert "prefers-color-scheme: dark" in style


# index.json, and the generation.


def test_the_json_says_what_the_page_shows() -> None:
    elsewhere = WHEN.astimezone(timezone(timedelta(hours=-8)))
    entries = (
        Entry("amd64", None, WHEN, folder=True),
        Entry("d", None, None, folder=True),
        a_file("x+1", 22, elsewhere),
    )

    assert json.loads(render_json(RELEASE, entries, generation=12)) == {
        "schema": 1,
        "generator": "publish-gate index",
        "generation": 12,
        "folder": "/python/3.14.0/",
        "entries": [
            {"name": "amd64", "href": "amd64/", "type": "folder", "modified": "2025-10-07T09:34:59Z"},
            {"name": "d", "href": "d/", "type": "folder", "modified": None},
            {
                "name": "x+1",
                "href": "x%2B1",
                "type": "file",
                "size": 22,
                "modified": "2025-10-07T09:34:59Z",
            },
        ],
    }
    assert json.loads(render_json(ROOT, (), generation=0))["entries"] == []
    assert json.loads(render_json(ROOT, (), generation=0))["folder"] == "/"


@given(st.integers(0, 10**18 - 1))
def test_a_page_and_its_json_tell_their_generation(generation: int) -> None:
    for page in (
        render_html(RELEASE, [a_file()], generation=generation, title="T"),
        render_json(RELEASE, [a_file()], generation=generation),
    ):
        assert read_generation(page) == generation
        assert is_ours(page)


@pytest.mark.parametrize(
    "page",
    [
        b"",
        b"<!DOCTYPE html>\n<html>",
        NGINX.encode(),
        b"\n" + render_html(ROOT, (), generation=1, title=""),
        b"<pre>" + render_html(ROOT, (), generation=1, title=""),
        render_html(ROOT, (), generation=1, title="").replace(b"generation 1", b"generation x"),
        render_html(ROOT, (), generation=1, title="").replace(b"generation 1", b"generation -1"),
        render_json(ROOT, (), generation=1).replace(b"publish-gate", b"another"),
        render_json(ROOT, (), generation=1).replace(b"1,", b"1.5,"),
        b"{}",
        b"\xff\xfe\0",
    ],
)
def test_a_page_that_others_wrote_is_not_ours_though_it_quotes_one_of_ours(page: bytes) -> None:
    assert read_generation(page) is None
    assert not is_ours(page)


def test_ten_thousand_entries_make_a_page_of_as_many_lines() -> None:
    objects = {f"python/Python-3.{n % 40}.{n // 40}.tgz": some_facts(n) for n in range(10_000)}

    entries = list_folder("python", objects, is_hidden=show_all)
    page = render_html("python", entries, generation=1, title="T")

    assert page.count(b"\n<a href=") == 10_000
    assert len(page) < 2_000_000
    assert [entry.name for entry in entries[248:252]] == [
        "Python-3.0.248.tgz",
        "Python-3.0.249.tgz",
        "Python-3.1.0.tgz",
        "Python-3.1.1.tgz",
    ]
