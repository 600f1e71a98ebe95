"""Announcements: drafts, prose with placeholders, forms; no name breaks Markdown, YAML or a shell."""

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from publisher.core.announcement import (
    MAX_EXTERNAL_ID,
    Announcement,
    draft_announcement,
    fill_prose,
    make_event,
    make_external_id,
    render_blog,
    render_discourse,
    render_plain,
)
from publisher.core.announcement_facts import (
    AnnouncedFile,
    AnnouncedRelease,
    write_digests,
    write_files,
    write_verification,
)
from publisher.core.announcement_text import escape, fence, format_size, join_names, quote_yaml, write_line
from publisher.core.digests import of_bytes
from publisher.core.identity import Identity
from publisher.core.profile import Row
from publisher.core.refusals import Refusal

BASE = "https://dl.example.org/"
HUGO = Identity("hugo@example.org", "https://accounts.example.org")
DAY = date(2030, 6, 17)
ODD = st.text(max_size=40)


def a_row(name: str = "Source", os: str = "source", description: str = "") -> Row:
    return Row(name, "slug", os, description, button=False)


def a_file(key: str = "1.2.0/tool.tgz", *, row: Row | None = None, signed: bool = True) -> AnnouncedFile:
    url = BASE + key
    return AnnouncedFile(
        key, url, 23_400_000, of_bytes(key.encode()), row, f"{url}.sigstore" if signed else None, ()
    )


def a_release(
    name: str = "1.2.0", *files: AnnouncedFile, identities: tuple[Identity, ...] = (HUGO,)
) -> AnnouncedRelease:
    whole = files or (a_file(f"{name}/tool.tgz", row=a_row()),)
    return AnnouncedRelease(name, "final", "1.2", DAY, whole, identities)


def fill(prose: str, *releases: AnnouncedRelease) -> Announcement:
    filled = fill_prose(prose, releases or (a_release(),), project="Tool")
    assert isinstance(filled, Announcement), filled
    return filled


def refuse(prose: str, *releases: AnnouncedRelease) -> tuple[Refusal, ...]:
    refused = fill_prose(prose, releases or (a_release(),), project="Tool")
    assert not isinstance(refused, Announcement)
    return refused


def parse(markdown: str) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(markdown)


def read_text(token: Token) -> str:
    return "".join(child.content for child in token.children or ())


def read_cells(markdown: str) -> list[list[str]]:
    """Read the text of a table's cells, row by row; anything but one table is an error."""
    tokens = parse(markdown)
    assert (tokens[0].type, tokens[-1].type) == ("table_open", "table_close")
    assert sum(token.type == "table_open" for token in tokens) == 1
    rows: list[list[str]] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(read_text(token))
    return rows


def read_code(markdown: str) -> str:
    (code,) = [token.content for token in parse(markdown) if token.type == "fence"]
    return code


def run(script: str, folder: Path) -> str:
    bash = shutil.which("bash")
    assert bash is not None
    done = subprocess.run(
        [bash, "-eu", "-c", script], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


# --- Drafts ----------------------------------------------------------------------------------------------


def test_a_draft_is_complete() -> None:
    release = replace(a_release(), notes_url="https://example.org/whatsnew.html")

    draft = draft_announcement([release], project="Tool")

    assert (draft.title, draft.slug) == ("Tool 1.2.0 is now available", "tool-120")
    assert draft.description == "Tool 1.2.0 (final) is now available."
    assert "final of series 1.2, released on 2030-06-17" in draft.body
    assert "[Release notes](https://example.org/whatsnew.html)" in draft.body
    assert [token.tag for token in parse(draft.body) if token.type == "heading_open"] == ["h2"] * 3
    for fact in (f"{BASE}1.2.0/tool.tgz", "23.4 MB", of_bytes(b"1.2.0/tool.tgz"), HUGO.name, HUGO.issuer):
        assert fact in draft.body
    assert "{{" not in draft.body


def test_several_releases_share_one_post() -> None:
    releases = [a_release("1.3.0"), a_release("1.2.9"), a_release("1.1.4")]

    draft = draft_announcement(releases, project="Tool")

    assert draft.title == "Tool 1.3.0, 1.2.9, and 1.1.4 are now available"
    assert draft.slug == "tool-130-129-114"
    for release in releases:
        assert draft.body.count(f"## Downloads: {release.name}") == 1
        assert release.files[0].url in draft.body


def test_a_project_without_series_and_notes_has_a_draft_too() -> None:
    draft = draft_announcement([replace(a_release(), series=None)], project="Tool")

    assert "final, released on 2030-06-17." in draft.body
    assert "Release notes" not in draft.body


def test_a_post_about_nothing_is_not_written() -> None:
    with pytest.raises(ValueError, match="found no release"):
        draft_announcement([], project="Tool")
    with pytest.raises(ValueError, match=r"found 1\.2\.0 without files"):
        replace(a_release(), files=())


# --- Facts -----------------------------------------------------------------------------------------------


def test_the_table_shows_what_is_listed_and_counts_the_rest() -> None:
    listed = a_file("1.2.0/setup.exe", row=a_row("Windows installer (64-bit)", "windows", "Recommended"))
    listed = replace(listed, sidecars=(f"{listed.url}.spdx.json", f"{BASE}1.2.0/other.json"))
    more = a_file("1.2.0/core.msi"), a_file("1.2.0/lib.msi")

    table, _, words = write_files(a_release("1.2.0", listed, *more)).partition("\n\n")

    assert read_cells(table) == [
        ["Download", "For", "Size", "About it"],
        ["Windows installer (64-bit)", "windows, Recommended", "23.4 MB", ".sigstore .spdx.json other.json"],
    ]
    assert words == "There are 2 more files in this release."
    assert write_files(a_release("1.2.0", listed, more[0])).endswith("There is 1 more file in this release.")


def test_all_files_are_shown_where_none_is_listed() -> None:
    release = a_release("1.2.0", a_file("1.2.0/a.tgz", signed=False), a_file("1.2.0/b.tgz"))

    assert [row[0] for row in read_cells(write_files(release))[1:]] == ["a.tgz", "b.tgz"]
    assert [row[3] for row in read_cells(write_files(release))[1:]] == ["", ".sigstore"]


def test_the_digests_are_a_command_that_checks_what_was_downloaded(tmp_path: Path) -> None:
    good, bad, absent = (a_file(f"1.2.0/{name}") for name in ("good.tgz", "bad.tgz", "absent.tgz"))
    (tmp_path / "good.tgz").write_bytes(b"1.2.0/good.tgz")
    (tmp_path / "bad.tgz").write_bytes(b"something else")

    assert "good.tgz: OK" in run(read_code(write_digests(a_release("1.2.0", good, absent))), tmp_path)
    assert "bad.tgz: FAILED" in run(read_code(write_digests(a_release("1.2.0", good, bad))), tmp_path)


def test_files_that_would_be_stored_under_one_name_are_told_apart() -> None:
    release = a_release("1.2.0", a_file("1.2.0/x/core.msi"), a_file("1.2.0/y/core.msi"), a_file("1.2.0/z"))

    names = [line.split("  ")[1] for line in read_code(write_digests(release)).splitlines()[1:-1]]

    assert names == ["1.2.0/x/core.msi", "1.2.0/y/core.msi", "z"]


def test_a_file_is_verified_by_pasting(tmp_path: Path) -> None:
    plus = replace(
        a_file("1.2.0/c++.tgz"), url=f"{BASE}1.2.0/c%2B%2B.tgz", bundle=f"{BASE}c%2B%2B.tgz.sigstore"
    )
    code = read_code(write_verification(a_release("1.2.0", a_file("1.2.0/a", signed=False), plus)))
    # Every program only says how it was called, but for the one that computes the digest.
    shown = (
        'show() { printf \'<%s>\' "$@"; echo; }; curl() { show curl "$@"; }; python() { show python "$@"; }\n'
    )
    (tmp_path / "c++.tgz").write_bytes(b"1.2.0/c++.tgz")

    verify = (
        "<python><-m><sigstore><verify><identity><--bundle><c++.tgz.sigstore>"
        f"<--cert-identity><{HUGO.name}><--cert-oidc-issuer><{HUGO.issuer}><c++.tgz>"
    )
    assert run(shown + code, tmp_path).splitlines() == [
        f"<curl><-fL><-o><c++.tgz><{BASE}1.2.0/c%2B%2B.tgz>",
        f"<curl><-fL><-o><c++.tgz.sigstore><{BASE}c%2B%2B.tgz.sigstore>",
        "c++.tgz: OK",
        "<python><-m><pip><install><sigstore>",
        verify,
    ]


def test_each_identity_has_its_command() -> None:
    other = Identity("ned@example.org", "https://github.example.org")

    words = write_verification(a_release(identities=(HUGO, other)))

    assert "one of 2 identities" in words
    assert "--cert-identity hugo@example.org" in words
    assert "--cert-identity ned@example.org --cert-oidc-issuer https://github.example.org" in words


@pytest.mark.parametrize(
    "release",
    [a_release("1.2.0", a_file(signed=False)), a_release(identities=())],
    ids=["bundle", "identity"],
)
def test_what_is_not_signed_is_verified_by_its_digest_alone(release: AnnouncedRelease) -> None:
    words = write_verification(release)

    assert "sha256sum --check" in words
    assert "sigstore" not in words


# --- Prose -----------------------------------------------------------------------------------------------


def test_placeholders_are_filled_where_they_stand() -> None:
    prose = """# It is here!

Get [the source]({{ url tool.tgz }}), {{size 1.2.0/tool.tgz}}, {{ digest tool.tgz }}.

{{ files 1.2.0 }}

Check it:

{{  verify  }}

{{ digests }}
"""
    release = a_release()

    filled = fill(prose, release)

    assert filled.title == "It is here!"
    assert filled.body == (
        f"Get [the source]({BASE}1.2.0/tool.tgz), 23.4 MB, {of_bytes(b'1.2.0/tool.tgz')}.\n\n"
        f"{write_files(release)}\n\nCheck it:\n\n{write_verification(release)}\n\n{write_digests(release)}"
    )


def test_facts_without_a_placeholder_are_appended() -> None:
    filled = fill("Only words.")

    assert filled.title == "Tool 1.2.0 is now available"
    assert filled.body.startswith("Only words.\n\n## Downloads: 1.2.0\n\n| Download")
    for block in (write_files, write_verification, write_digests):
        assert filled.body.count(block(a_release())) == 1


def test_a_part_stands_apart_from_the_lines_around_it() -> None:
    release = a_release()

    assert fill(
        "Above\n{{ files }}\n{{ verify }}\n\n{{ digests }}\nBelow\n```\na\n\n\nb\n```", release
    ).body == (
        f"Above\n\n{write_files(release)}\n\n{write_verification(release)}\n\n{write_digests(release)}\n\n"
        "Below\n```\na\n\n\nb\n```"
    )


def test_only_what_is_not_there_yet_is_appended() -> None:
    filled = fill("{{ digests }}")

    assert filled.body.startswith("```sh\nsha256sum")
    assert filled.body.count("sha256sum --check --ignore-missing") == 1
    assert "## Downloads" in filled.body
    assert "## Verify" in filled.body


def test_a_placeholder_means_every_release_or_the_one_it_names() -> None:
    old, new = a_release("1.2.9"), a_release("1.3.0")

    assert fill("{{ files }}", old, new).body == (
        f"**1.2.9**\n\n{write_files(old)}\n\n**1.3.0**\n\n{write_files(new)}"
    )
    one = fill("{{ files 1.3.0 }}", old, new).body
    assert one.startswith(write_files(new))
    assert "## Downloads: 1.2.9" in one
    assert "## Downloads: 1.3.0" not in one


def test_a_key_means_itself_before_it_means_the_end_of_another() -> None:
    release = a_release("1.2.0", a_file("tool.tgz"), a_file("1.2.0/tool.tgz"))

    assert fill("{{ url tool.tgz }}", release).body.startswith(f"{BASE}tool.tgz\n")


@pytest.mark.parametrize(
    ("prose", "title", "description"),
    [
        ("---\ntitle: It's here\n---\n\nText", "It's here", "Tool 1.2.0 (final) is now available."),
        ("---\ntitle: 'It''s: here'\ndescription: \"So \\\"good\\\"\"\n---\n", "It's: here", 'So "good"'),
        (
            "\ufeff---\r\ntitle : Here\r\n# comment\r\n---\r\nText",
            "Here",
            "Tool 1.2.0 (final) is now available.",
        ),
        ("\n\n# Here ##\n\nText", "Here", "Tool 1.2.0 (final) is now available."),
        ("---\ndescription: So good\n---\n# Here", "Here", "So good"),
        ("## Not a title\n", "Tool 1.2.0 is now available", "Tool 1.2.0 (final) is now available."),
        ("", "Tool 1.2.0 is now available", "Tool 1.2.0 (final) is now available."),
    ],
)
def test_the_title_stands_above_the_text(prose: str, title: str, description: str) -> None:
    filled = fill(prose)

    assert (filled.title, filled.description) == (title, description)
    assert title not in filled.body
    assert "---\ntitle" not in filled.body


def test_a_heading_stays_where_the_front_matter_has_the_title() -> None:
    assert fill("---\ntitle: A\n---\n# B\n").body.startswith("# B\n")


def test_every_wrong_placeholder_is_refused_with_its_line_and_the_nearest_name() -> None:
    release = a_release("1.2.0", a_file("1.2.0/x/core.msi"), a_file("1.2.0/y/core.msi"))
    prose = """# Title

{{ fils }} and {{ files }}
{{ url cor.msi }}{{ unknown }}
{{ url core.msi }}
{{ size }}{{ }}
{{ files 1.2.1 }}
{{ files
"""

    refused = refuse(prose, release)

    assert [(r.rule, r.subject, r.found) for r in refused] == [
        ("prose", "line 3", "{{ fils }}"),
        ("prose", "line 3", "{{ files }} among other words"),
        ("prose", "line 4", "url of cor.msi"),
        ("prose", "line 4", "{{ unknown }}"),
        ("prose", "line 5", "url of core.msi, which is 1.2.0/x/core.msi, 1.2.0/y/core.msi"),
        ("prose", "line 6", "size of no file"),
        ("prose", "line 6", "{{ }}"),
        ("prose", "line 7", "files of 1.2.1"),
        ("prose", "line 8", "{{ without }} after it"),
    ]
    assert [r.cure.partition("?")[0] for r in refused[:5]] == [
        "did you mean files",
        "put it on one",
        "did you mean core.msi",
        r"to show two braces as they are, write \{{",
        "give it with the folders above it",
    ]
    assert refused[7].cure == "did you mean 1.2.0? correct the name"
    assert refused[0].expected == "one of files, verify, digests, url, size, digest"


def test_braces_that_are_meant_are_kept() -> None:
    assert fill(r"`\{{ matrix.os }}` and \{{").body.startswith("`{{ matrix.os }}` and {{\n")


def test_front_matter_that_is_not_understood_is_refused() -> None:
    refused = refuse("---\ntitel: A\ntags:\n  - x\n- y\nauthor: Hugo\n---\n")

    assert [(r.subject, r.found) for r in refused] == [
        ("line 2", "titel in the front matter"),
        ("line 3", "tags in the front matter"),
        ("line 6", "author in the front matter"),
    ]
    assert refused[0].cure.startswith("did you mean title?")
    assert refused[2].cure.startswith("take it out")
    assert [r.found for r in refuse("---\ntitle: >-\n  A\ndescription:\n---")] == [
        "title on other lines",
        "description on other lines",
    ]
    assert [r.found for r in refuse("---\ntitle: A\n")] == ["front matter without an end"]


@pytest.mark.parametrize(
    ("prose", "line"), [("# {{ x }}", 1), ("---\ntitle: A\ndescription: {{ x }}\n---", 3)]
)
def test_a_title_has_no_placeholders(prose: str, line: int) -> None:
    (refused,) = refuse(prose)

    assert (refused.subject, refused.found) == (f"line {line}", "a placeholder above the text")


# --- Names of the post -----------------------------------------------------------------------------------


def test_an_external_id_depends_on_the_releases_alone() -> None:
    draft = draft_announcement([a_release("1.2.9"), a_release("1.3.0")], project="Tool")

    assert draft.external_id == fill("Words.", a_release("1.3.0"), a_release("1.2.9")).external_id
    assert re.fullmatch(r"tool-1_2_9-1_3_0-[0-9a-f]{12}", draft.external_id)
    others = [
        make_external_id(["1.2.9"], project="Tool"),
        make_external_id(["1.2.9", "1.3.0"], project="Other"),
        make_external_id(["1.2.9", "1.3.0"], project="Tool", number=2),
    ]
    assert draft.external_id not in others
    assert len(set(others)) == 3


def test_releases_that_differ_by_a_dot_have_different_ids() -> None:
    assert make_external_id(["3.1.10"], project="P") != make_external_id(["3.11.0"], project="P")


@given(st.lists(ODD, min_size=1, max_size=8), ODD)
@example(["1.2.0" * 40], "Tool")
@example(["日本"], "語")
def test_any_external_id_is_one_that_a_forum_takes(names: list[str], project: str) -> None:
    assert re.fullmatch(r"[a-z0-9_-]{1,50}", make_external_id(names, project=project))
    assert MAX_EXTERNAL_ID == 50


@given(ODD, ODD)
@example("1.2.0" * 60, "Tool")
@example("..", "/")
@example("日本", "語")
def test_any_slug_is_one_folder(name: str, project: str) -> None:
    slug = draft_announcement([replace(a_release(), name=name)], project=project).slug

    assert re.fullmatch(r"[a-z0-9_-]{1,100}", slug)


# --- Forms -----------------------------------------------------------------------------------------------


def test_a_blog_entry_is_a_file_with_front_matter() -> None:
    draft = draft_announcement([a_release()], project="Tool")

    path, text = render_blog(draft, day=DAY, author="O'Hara", tags=["releases", "3.14"])
    _, head, body = text.split("---\n", 2)

    assert path == "content/posts/tool-120/index.md"
    assert yaml.safe_load(head) == {
        "title": "Tool 1.2.0 is now available",
        "publishDate": "2030-06-17",
        "author": "O'Hara",
        "description": "Tool 1.2.0 (final) is now available.",
        "tags": ["releases", "3.14"],
        "published": True,
    }
    assert body == f"\n{draft.body}\n"
    assert yaml.safe_load(render_blog(draft, day=DAY, author="A", tags=[])[1].split("---\n")[1])["tags"] == []


def test_the_other_forms_hold_the_same_body() -> None:
    draft = draft_announcement([a_release()], project="Tool")

    assert render_discourse(draft) == f"{draft.body}\n"
    assert render_plain(draft) == f"# Tool 1.2.0 is now available\n\n{draft.body}\n"


def test_an_event_says_everything_and_can_be_written_as_json() -> None:
    release = a_release()
    draft = draft_announcement([release], project="Tool")

    event = json.loads(json.dumps(make_event(draft, [release], project="Tool")))

    assert event["id"] == draft.external_id
    assert (event["schema"], event["event"], event["project"]) == (1, "announcement", "Tool")
    assert (event["title"], event["slug"], event["body"]) == (draft.title, draft.slug, draft.body)
    assert event["releases"] == [
        {
            "name": "1.2.0",
            "kind": "final",
            "series": "1.2",
            "date": "2030-06-17",
            "notes_url": None,
            "identities": [{"name": HUGO.name, "issuer": HUGO.issuer}],
            "files": [
                {
                    "key": "1.2.0/tool.tgz",
                    "url": f"{BASE}1.2.0/tool.tgz",
                    "size": 23_400_000,
                    "sha256": of_bytes(b"1.2.0/tool.tgz"),
                    "bundle": f"{BASE}1.2.0/tool.tgz.sigstore",
                    "sidecars": [],
                }
            ],
        }
    ]


# --- Odd names -------------------------------------------------------------------------------------------


@given(ODD, ODD, ODD)
@example("a|b", "a\\", "\\|")
@example("a\n\n# b", "[x](y)", "<b>&amp;`c`")
@example("\u2028", "\ud800", "\x00")
def test_no_name_breaks_a_table(title: str, description: str, url: str) -> None:
    row = a_row(title, "", description)
    files = [replace(a_file(row=row), url=BASE + url, bundle=None), a_file(row=a_row("Next"))]

    cells = read_cells(write_files(a_release("1.2.0", *files)))

    assert [line[0] for line in cells] == ["Download", write_line(title), "Next"]
    assert cells[1][1:] == [write_line(description), "23.4 MB", ""]


@given(ODD)
@example("x86_64 _a_ __b__")
@example("http://a.b *c* ~~d~~ ![e](f)")
def test_an_escaped_name_is_shown_as_it_is(name: str) -> None:
    (heading,) = [token for token in parse(f"## About: {escape(name)}") if token.type == "inline"]

    assert read_text(heading) == f"About: {write_line(name)}".strip()


@given(ODD, ODD, st.lists(ODD, max_size=3))
@example("'---'\n---\nx: y", "null", ["no", "3.10"])
def test_no_name_breaks_the_front_matter(title: str, author: str, tags: list[str]) -> None:
    post = replace(draft_announcement([a_release()], project="Tool"), title=title)

    head = render_blog(post, day=DAY, author=author, tags=tags)[1].split("\n---\n")[0].removeprefix("---\n")
    read = yaml.safe_load(head)

    assert (read["title"], read["author"]) == (write_line(title), write_line(author))
    assert read["tags"] == [write_line(tag) for tag in tags]
    assert read["published"] is True


@given(ODD)
def test_any_text_is_a_string_in_yaml(text: str) -> None:
    assert yaml.safe_load(quote_yaml(text)) == write_line(text)


@given(st.lists(ODD, min_size=1, max_size=4))
@example(["```", "````sh"])
@example(["~~~", "  x  y"])
def test_no_line_closes_a_fence(lines: list[str]) -> None:
    (token,) = parse(fence(lines, "sh"))

    assert token.type == "fence"
    assert token.content.count("\n") == len(lines)


@given(st.text(min_size=1, max_size=20).filter(lambda name: "/" not in name))
@example("a b'; touch pwned; '")
@example("$(touch pwned)`touch pwned`")
def test_no_name_is_run_by_a_shell(name: str) -> None:
    file = replace(a_file(), key=f"1.2.0/{name}")
    identity = Identity(name, name)
    code = read_code(write_verification(a_release("1.2.0", file, identities=(identity,))))

    words = shlex.split(code.splitlines()[-1])

    assert words[:4] == ["python", "-m", "sigstore", "verify"]
    assert len(words) == 12


@given(st.text(), st.lists(ODD, min_size=1, max_size=2))
def test_any_prose_is_filled_or_refused(prose: str, names: Iterable[str]) -> None:
    releases = [replace(a_release(), name=name) for name in names]

    filled = fill_prose(prose, releases, project="Tool")

    if isinstance(filled, Announcement):
        assert filled.title == write_line(filled.title) != ""
    else:
        assert all(refusal.subject.startswith("line ") for refusal in filled)


# --- Spelling --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (23_400_000, "23.4 MB"),
        (1_500, "1.5 kB"),
        (2_350_000_000, "2.35 GB"),
    ],
)
def test_sizes_are_written_for_people(size: int, words: str) -> None:
    assert format_size(size) == words


@pytest.mark.parametrize(
    ("names", "words"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b, and c")]
)
def test_names_are_joined_as_people_do(names: list[str], words: str) -> None:
    assert join_names(names) == words
