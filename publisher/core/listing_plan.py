"""Plans the listing: the differences between wanted and found rows, one write each, in the only safe order.

Each change is found from the rows as they are by then, so a plan made after any number of them goes on
where that one stopped. What the order respects, of the server's rules: a slug is unique; an operating
system has one download button in a release; and a row can neither be added nor moved to where a button is.
Additions there are still made, by another way in (`CreateFile.beside_button`), if the release is public:
its button must not be off for as long as that takes. A draft's button is lent instead.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from publisher.core.listing import FileRow, FoundFile, FoundRelease, ReleaseRow
from publisher.core.listing_changes import (
    Change,
    CreateFile,
    DeleteFile,
    FileChange,
    UpdateFile,
    UpdateRelease,
    apply_change,
    renew_release,
)


def plan_listing(
    wanted: tuple[FileRow, ...], found: Iterable[FoundFile], release: FoundRelease, row: ReleaseRow
) -> tuple[Change, ...]:
    """Plan what makes the file rows of `release` the `wanted` ones, and then itself `row`.

    The wanted rows have passed `validate_rows`. Planned again after any number of these changes, the rest
    comes out; after all of them, nothing.

    Raises:
        ValueError: A found row belongs to another release.
    """
    found = tuple(found)
    if any(file.release != release.id for file in found):
        raise ValueError("a row of another release was found")
    changes: list[Change] = []
    rows = {file.id: file.row for file in found}
    while change := _find_next(_State(release, wanted, rows)):
        changes.append(change)
        rows = apply_change(rows, change)
    return (*changes, *_plan_release(release, row))


def _plan_release(found: FoundRelease, wanted: ReleaseRow) -> Iterator[UpdateRelease]:
    published = found.row.is_published or wanted.is_published
    after = replace(
        found.row,
        name=wanted.name,
        version=wanted.version,
        pre_release=wanted.pre_release,
        is_published=published,
        is_latest=published and wanted.is_latest,
        # The date is given once, when the release becomes public.
        release_date=found.row.release_date if found.row.is_published else wanted.release_date,
        # Somebody may know better where the notes are.
        release_notes_url=found.row.release_notes_url or wanted.release_notes_url,
    )
    if after != found.row:
        yield UpdateRelease(found.id, found.row, after)


def plan_unlisting(found: Iterable[FoundFile], release: FoundRelease) -> tuple[Change, ...]:
    """Plan what takes a release off the site: its rows first, for they show on an unpublished release too.

    Nothing that un-publishes lets the site forget its pages, so the release is saved once more before.
    """
    rows = tuple(DeleteFile(file.release, file.id, file.row) for file in found)
    if not (release.row.is_published or release.row.is_latest):
        return rows
    hidden = replace(release.row, is_published=False, is_latest=False)
    return (*rows, renew_release(release), UpdateRelease(release.id, release.row, hidden))


class _State:
    """A release's rows by id at one moment, and which wanted row each of them is to become."""

    def __init__(
        self, release: FoundRelease, wanted: tuple[FileRow, ...], rows: Mapping[int, FileRow]
    ) -> None:
        self.release = release.id
        self.is_published = release.row.is_published
        self.rows = rows
        self.goals = _match(wanted, rows)
        """The wanted rows by the ids of those that become them; ids without one are stale."""
        there = {goal.url for goal in self.goals.values()}
        self.absent = tuple(row for row in wanted if row.url not in there)
        self.holders = {row.os: number for number, row in rows.items() if row.button}
        """Which row has the download button, by operating system."""

    def awaits(self, system: str) -> bool:
        """Tell whether a row is still to be created for `system`."""
        return any(row.os == system for row in self.absent)

    def is_awaited(self, system: str, *, but: int) -> bool:
        """Tell whether a row other than `but` is still to be moved to `system`."""
        return any(
            goal.os == system != self.rows[number].os for number, goal in self.goals.items() if number != but
        )

    def is_held(self, slug: str, *, but: int | None = None) -> bool:
        """Tell whether a row other than `but` has this slug."""
        return any(row.slug == slug for number, row in self.rows.items() if number != but)

    def update(self, number: int, after: FileRow) -> UpdateFile:
        """Make the change of one row."""
        return UpdateFile(self.release, number if number > 0 else None, self.rows[number], after)


def _match(wanted: tuple[FileRow, ...], rows: Mapping[int, FileRow]) -> dict[int, FileRow]:
    """Find the row that is to become each wanted one: what lists the same file, else what has its slug."""
    by_url = {row.url: number for number, row in rows.items()}
    goals = {by_url[row.url]: row for row in wanted if row.url in by_url}
    by_slug = {row.slug: number for number, row in rows.items() if number not in goals}
    return goals | {by_slug[row.slug]: row for row in wanted if row.url not in by_url and row.slug in by_slug}


def _find_next(state: _State) -> FileChange | None:
    steps = (_update_losers, _clear_buttons, _update_others, _free_slugs, _create, _delete)
    return next((change for step in steps for change in step(state)), None)


def _update_losers(state: _State) -> Iterator[UpdateFile]:
    for number, goal in state.goals.items():
        if _loses(state.rows[number], goal) and _may_become(state, number, goal):
            yield state.update(number, goal)


def _update_others(state: _State) -> Iterator[UpdateFile]:
    for number, goal in state.goals.items():
        if state.rows[number] != goal and _may_become(state, number, goal):
            yield state.update(number, goal)


def _loses(row: FileRow, goal: FileRow) -> bool:
    return row.button and (not goal.button or row.os != goal.os)


def _may_become(state: _State, number: int, goal: FileRow) -> bool:
    """Tell whether one change makes a row what it is to become, within the server's rules."""
    row = state.rows[number]
    if state.is_held(goal.slug, but=number):
        return False
    if _loses(row, goal) and state.is_published and state.awaits(row.os):
        return False
    moves = row.os != goal.os
    gains = goal.button and (moves or not row.button)
    if (moves or gains) and state.holders.get(goal.os, number) != number:
        return False
    return not gains or not (state.awaits(goal.os) or state.is_awaited(goal.os, but=number))


def _clear_buttons(state: _State) -> Iterator[UpdateFile]:
    """Turn a button off where another row gets it, or where it is in the way of rows that come."""
    for system, number in state.holders.items():
        comes = state.awaits(system)
        if comes and state.is_published:
            continue
        moves = state.is_awaited(system, but=number)
        if comes or moves or _is_passed_on(state, system, number):
            yield state.update(number, replace(state.rows[number], button=False))


def _is_passed_on(state: _State, system: str, holder: int) -> bool:
    """Tell whether a stale row has the button that a row which is there should have."""
    return holder not in state.goals and any(
        goal.button and goal.os == system for goal in state.goals.values()
    )


def _free_slugs(state: _State) -> Iterator[UpdateFile]:
    """Give a passing slug to a row whose own is another's, where no change of that row itself would do."""
    targets = [(None, row) for row in state.absent]
    targets += [(number, goal) for number, goal in state.goals.items()]
    for target, goal in targets:
        for number, row in state.rows.items():
            if number != target and row.slug == goal.slug:
                yield state.update(number, replace(row, slug=_pick_slug(state, number)))


def _pick_slug(state: _State, number: int) -> str:
    taken = {row.slug for row in (*state.rows.values(), *state.goals.values(), *state.absent)}
    slug = f"moved-{number}"
    while slug in taken:
        slug += "-"
    return slug


def _create(state: _State) -> Iterator[CreateFile]:
    # The one with the button last: nothing could be added beside it.
    for row in sorted(state.absent, key=lambda row: row.button):
        beside = row.os in state.holders
        yield CreateFile(state.release, replace(row, button=row.button and not beside), beside)


def _delete(state: _State) -> Iterator[DeleteFile]:
    for number, row in state.rows.items():
        if number not in state.goals:
            yield DeleteFile(state.release, number, row)
