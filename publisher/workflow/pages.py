"""Index pages in the public bucket: made from what is there, swapped only if nobody else has done so."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from publisher.core.gate import list_folders
from publisher.core.pages import (
    Entry,
    ObjectFacts,
    affected_folders,
    list_folder,
    list_tree,
    make_page_keys,
)
from publisher.core.pages_render import (
    HTML_TYPE,
    JSON_TYPE,
    is_ours,
    read_generation,
    render_html,
    render_json,
)
from publisher.core.profile import Delivery, PageRule
from publisher.core.urls import list_page_paths, make_path
from publisher.errors import ConflictError, EdgeError, StoreError
from publisher.ports import ReadObject
from publisher.workflow.edge import wait
from publisher.workflow.gate import GateKeeper
from publisher.workflow.purging import invalidate, purge
from publisher.workflow.world import World

_CACHE = "public, max-age=60"
HTML = Delivery(HTML_TYPE, "page", _CACHE)
JSON = Delivery(JSON_TYPE, "page", _CACHE)
_TRIES = 5
_PAUSE = 1.0

Objects = Mapping[str, ObjectFacts]


@dataclass(frozen=True, slots=True)
class _Page:
    """One page as it was found, before the bucket was listed: what it takes to swap it."""

    folder: str
    key: str
    delivery: Delivery
    found: ReadObject | None

    @property
    def generation(self) -> int:
        return (read_generation(self.found.data) or 0) if self.found else 0


class PageWriter:
    """Writes the index pages of one site. `keeper` fences what it writes into the gate."""

    def __init__(
        self, world: World, keeper: GateKeeper, check_lease: Callable[[], None], rule: PageRule
    ) -> None:
        self._world = world
        self._keeper = keeper
        self._check_lease = check_lease
        self._rule = rule
        self._hidden = re.compile(rule.hidden) if rule.hidden else None
        self._unlisted = world.state.list_unlisted()

    def refresh(self, keys: Iterable[str], purpose: str) -> tuple[str, ...]:
        """Bring the pages of all folders that `keys` lie in, or lay in, to what is public now.

        Every page that was written is forgotten by all caches and seen to be new; `purpose` names the
        invalidation. Pages that say already what they should are left alone, so this is safe to repeat.

        Returns:
            The keys that were written.

        Raises:
            EdgeError: An edge still serves an old page.
        """
        return self._refresh(affected_folders(keys, root=self._rule.root), purpose)

    def refresh_all(self, purpose: str) -> tuple[str, ...]:
        """Bring the pages of every folder of the tree to what is public now."""
        return self._refresh(affected_folders(self._list(), root=self._rule.root), purpose)

    def find_stale(self) -> tuple[str, ...]:
        """Find the pages of the tree that do not say what is public; nothing is written."""
        objects = self._list()
        tree = list_tree(objects, is_hidden=self._is_hidden)
        stale: list[str] = []
        for folder in affected_folders(objects, root=self._rule.root):
            for page in self._read(folder):
                wanted = self._render(page, tree.get(folder, ()), page.generation)
                # A file of somebody's own stays as it is.
                if self._is_page(page) and (page.found is None or page.found.data != wanted):
                    stale.append(page.key)
        return tuple(stale)

    def _refresh(self, folders: tuple[str, ...], purpose: str) -> tuple[str, ...]:
        pages = [page for folder in folders for page in self._read(folder)]
        # Listed after the pages are read: whoever lists later than a swap also sees what led to it.
        objects = self._list()
        swapped = ((page, self._swap(page, objects)) for page in pages)
        written = {page.key: generation for page, generation in swapped if generation is not None}
        shown = [page.folder for page in pages if page.delivery is HTML and self._is_page(page)]
        self._keeper.write(partial(list_folders, folders=shown))
        if written:
            self._show(written, purpose)
        # What an earlier run wrote may not have been forgotten everywhere.
        others = [
            page.key for page in pages if page.key not in written and self._is_page(page) and page.found
        ]
        old = self._find_old_anywhere(others)
        if old:
            self._show(old, f"{purpose}-{self._world.new_id()}")
        return tuple(written)

    def _find_old_anywhere(self, keys: Iterable[str]) -> Mapping[str, int]:
        """Find the pages that the CDN or a cache before it serves in an older generation."""
        keys = tuple(keys)
        bases = dict.fromkeys([self._world.site.cdn_url, self._world.site.public_base_url])
        return {key: generation for base in bases for key, generation in self._find_old(base, keys).items()}

    def _swap(self, page: _Page, objects: Objects) -> int | None:
        """Write one page, and give its generation; None if it says already what it should, or is not ours."""
        again = False
        for _ in range(_TRIES):
            if not self._is_page(page):
                self._world.observer.warn(f"{page.key} is a file of its own: no index page there")
                return None
            entries = list_folder(page.folder, objects, is_hidden=self._is_hidden)
            if page.found and page.found.data == self._render(page, entries, page.generation):
                return page.generation if again else None
            try:
                return self._write(page, self._render(page, entries, page.generation + 1))
            except ConflictError:
                # Somebody else's swap, or a first try of this very request: judged anew, from what is there.
                page = _Page(page.folder, page.key, page.delivery, self._world.public.read(page.key))
                objects = self._list()
                again = True
        raise StoreError(f"{page.key} could not be written: somebody else keeps writing it", "run again")

    def _write(self, page: _Page, data: bytes) -> int:
        self._check_lease()
        if page.found is None:
            self._world.public.create(page.key, data, page.delivery)
        else:
            self._world.public.replace(page.key, data, page.delivery, page.found.etag)
        return page.generation + 1

    def _show(self, written: Mapping[str, int], purpose: str) -> None:
        """Let all caches forget the pages that were written, and see that they are served as they are."""
        paths = sorted({path for key in written for path in list_page_paths(key)})
        pause = partial(wait, self._world, self._check_lease)
        stamp = " ".join(sorted(f"{key}={generation}" for key, generation in written.items()))
        invalidate(self._world, self._check_lease, pause, paths, purpose, stamp)
        for base in dict.fromkeys([self._world.site.cdn_url, self._world.site.public_base_url]):
            purge(self._world, self._check_lease, written)
            self._look(base, written)

    def _look(self, base: str, written: Mapping[str, int]) -> None:
        left = self._world.times.lag + 2.0 * self._world.times.error_ttl
        old = self._find_old(base, written)
        while old and left > 0:
            pause = min(_PAUSE, left)
            wait(self._world, self._check_lease, pause)
            left -= pause
            purge(self._world, self._check_lease, old)
            old = self._find_old(base, old)
        if old:
            names = ", ".join(base + make_path(key) for key in list(old)[:5])
            raise EdgeError(f"{len(old)} index pages are not served as written: {names}", "run again")

    def _find_old(self, base: str, keys: Iterable[str]) -> dict[str, int]:
        """Find the pages that are served in an older generation than the bucket has, or not at all."""
        wanted = {key: self._read_current(key) for key in keys}

        def is_old(key: str) -> bool:
            try:
                served = self._world.web.read(base + make_path(key))
            except EdgeError:
                return True
            return served is None or (read_generation(served) or 0) < wanted[key]

        names = sorted(wanted)
        found = self._world.parallel.map(is_old, names)
        return {key: wanted[key] for key, old in zip(names, found, strict=True) if old}

    def _read_current(self, key: str) -> int:
        found = self._world.public.read(key)
        return (read_generation(found.data) or 0) if found else 0

    def _read(self, folder: str) -> tuple[_Page, _Page]:
        html, document = make_page_keys(folder)
        return (
            _Page(folder, html, HTML, self._world.public.read(html)),
            _Page(folder, document, JSON, self._world.public.read(document)),
        )

    def _is_page(self, page: _Page) -> bool:
        return page.found is None or is_ours(page.found.data)

    def _render(self, page: _Page, entries: tuple[Entry, ...], generation: int) -> bytes:
        if page.delivery is HTML:
            return render_html(page.folder, entries, generation=generation, title=self._rule.title)
        return render_json(page.folder, entries, generation=generation)

    def _list(self) -> Objects:
        root = self._rule.root
        found = self._world.public.list_objects(f"{root}/" if root else "")
        return {item.key: ObjectFacts(item.size, item.modified) for item in found}

    def _is_hidden(self, key: str) -> bool:
        # A page that showed the listing's date would be old with every row.
        if key == self._world.listing_key or key in self._unlisted:
            return True
        return self._hidden is not None and bool(self._hidden.fullmatch(key))
