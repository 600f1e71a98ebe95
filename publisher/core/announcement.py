"""An announcement: drafted whole, or the release manager's prose with the facts filled in; and its forms."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final

from publisher.core.announcement_facts import AnnouncedRelease
from publisher.core.announcement_prose import BLOCKS, read_prose
from publisher.core.announcement_text import escape, join_names, link, quote_yaml, write_line
from publisher.core.refusals import Refusal

SCHEMA: Final = 1
MAX_EXTERNAL_ID = 50
"""Discourse takes so many letters, digits, `_` and `-` for an external id, and tells no case apart."""

_MAX_SLUG = 80
_HEADINGS = {"files": "Downloads", "verify": "Verify what you downloaded", "digests": "SHA-256 digests"}


@dataclass(frozen=True, slots=True)
class Announcement:
    """One post about some releases: `title` and `description` are plain text on one line, `body` is Markdown.

    `slug` names it in URLs. `external_id` is the same for every announcement of the same releases, whatever
    it says, so that it can be posted once only.
    """

    title: str
    slug: str
    description: str
    body: str
    external_id: str


def draft_announcement(
    releases: Iterable[AnnouncedRelease], *, project: str, number: int = 1
) -> Announcement:
    """Write an announcement that can be posted as it is.

    Args:
        releases: At least one.
        project: The project's name, for people.
        number: Which announcement of just these releases it is, for the rare second one.
    """
    releases = tuple(releases)
    names = join_names([release.name for release in releases])
    first = f"Now available: {escape(f'{project} {names}')}."
    body = "\n\n".join([first, _introduce(releases), *_write_facts(releases, set())])
    return _make(releases, project, number, "", "", body)


def fill_prose(
    prose: str, releases: Iterable[AnnouncedRelease], *, project: str, number: int = 1
) -> Announcement | tuple[Refusal, ...]:
    """Fill the placeholders of the release manager's prose, or refuse it with every reason.

    A release whose files have no placeholder gets its facts at the end, but for those that it has already.
    The title is that of the front matter, else a first `# Title`, else the drafted one. The rest of `prose`
    is not looked at. Args are as those of `draft_announcement`.
    """
    releases = tuple(releases)
    read = read_prose(prose, releases)
    if read.refusals:
        return tuple(read.refusals)
    bare = tuple(release for release in releases if ("files", release.name) not in read.covered)
    body = "\n\n".join(filter(None, [read.body, *_write_facts(bare, read.covered)]))
    return _make(releases, project, number, read.title, read.description, body)


def make_external_id(names: Iterable[str], *, project: str, number: int = 1) -> str:
    """Name the announcement of these releases, in any order, for a forum and a webhook.

    Dots are not allowed in it: what keeps 3.1.10 and 3.11.0 apart is the digest at its end.
    """
    ordered = sorted(names)
    end = _abbreviate("\n".join([project, str(number), *ordered]))
    words = _slugify("-".join([project, *ordered]), dot="_")
    return f"{words[: MAX_EXTERNAL_ID - len(end) - 1].rstrip('-_')}-{end}".lstrip("-")


def render_discourse(announcement: Announcement) -> str:
    """Write the body of a Discourse topic; its title stands apart."""
    return announcement.body + "\n"


def render_blog(
    announcement: Announcement, *, day: date, author: str, tags: Iterable[str]
) -> tuple[str, str]:
    """Write an entry of a blog kept in git, as python/python-insider-blog has them: its path and its text."""
    entries = [
        f"title: {quote_yaml(announcement.title)}",
        f"publishDate: {quote_yaml(day.isoformat())}",
        f"author: {quote_yaml(author)}",
        f"description: {quote_yaml(announcement.description)}",
        *_list_tags(tuple(tags)),
        "published: true",
    ]
    head = "\n".join(["---", *entries, "---"])
    return f"content/posts/{announcement.slug}/index.md", f"{head}\n\n{announcement.body}\n"


def render_plain(announcement: Announcement) -> str:
    """Write a Markdown file that stands for itself."""
    return f"# {escape(announcement.title)}\n\n{announcement.body}\n"


def make_event(
    announcement: Announcement, releases: Iterable[AnnouncedRelease], *, project: str
) -> Mapping[str, object]:
    """Make what a webhook is told, ready for JSON; it says everything that the announcement does."""
    return {
        "schema": SCHEMA,
        "event": "announcement",
        "id": announcement.external_id,
        "project": project,
        "title": announcement.title,
        "slug": announcement.slug,
        "description": announcement.description,
        "body": announcement.body,
        "releases": [_make_release(release) for release in releases],
    }


def _make(
    releases: tuple[AnnouncedRelease, ...], project: str, number: int, title: str, description: str, body: str
) -> Announcement:
    if not releases:
        raise ValueError("found no release to announce, expected at least one")
    names = [release.name for release in releases]
    verb = "is" if len(names) == 1 else "are"
    title = title or write_line(f"{project} {join_names(names)} {verb} now available")
    kinds = join_names(list(dict.fromkeys(release.kind for release in releases)))
    return Announcement(
        title=title,
        slug=_make_slug(project, names),
        description=description
        or write_line(f"{project} {join_names(names)} ({kinds}) {verb} now available."),
        body=body,
        external_id=make_external_id(names, project=project, number=number),
    )


def _introduce(releases: tuple[AnnouncedRelease, ...]) -> str:
    lines: list[str] = []
    for release in releases:
        series = f" of series {escape(release.series)}" if release.series else ""
        notes = f" {link('Release notes', release.notes_url)}" if release.notes_url else ""
        facts = f"{escape(release.kind)}{series}, released on {release.date.isoformat()}."
        lines.append(f"* **{escape(release.name)}**: {facts}{notes}")
    return "\n".join(lines)


def _write_facts(releases: tuple[AnnouncedRelease, ...], covered: set[tuple[str, str]]) -> list[str]:
    """Write the parts about each release that are not `covered` yet, under headings."""
    parts: list[str] = []
    for release in releases:
        for word, write in BLOCKS.items():
            if (word, release.name) not in covered:
                parts += [f"## {_HEADINGS[word]}: {escape(release.name)}", write(release)]
    return parts


def _make_slug(project: str, names: list[str]) -> str:
    slug = _slugify("-".join([project, *names]), dot="")
    if slug and len(slug) <= _MAX_SLUG:
        return slug
    return f"{slug[:_MAX_SLUG]}-{_abbreviate(project + ' ' + ' '.join(names))}".lstrip("-")


def _slugify(text: str, *, dot: str) -> str:
    return re.sub(r"[^a-z0-9_]+", "-", text.lower().replace(".", dot)).strip("-_")


def _abbreviate(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _list_tags(tags: tuple[str, ...]) -> list[str]:
    return ["tags:", *(f"  - {quote_yaml(tag)}" for tag in tags)] if tags else ["tags: []"]


def _make_release(release: AnnouncedRelease) -> Mapping[str, object]:
    return {
        "name": release.name,
        "kind": release.kind,
        "series": release.series,
        "date": release.date.isoformat(),
        "notes_url": release.notes_url,
        "identities": [{"name": who.name, "issuer": who.issuer} for who in release.identities],
        "files": [
            {
                "key": file.key,
                "url": file.url,
                "size": file.size,
                "sha256": file.digest,
                "bundle": file.bundle,
                "sidecars": list(file.sidecars),
            }
            for file in release.files
        ],
    }
