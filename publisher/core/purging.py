"""What caches in front of the CDN are to forget: every URL by which users ask for a public key."""

from collections.abc import Iterable, Iterator

from publisher.core.pages import HTML_NAME, affected_folders, make_page_keys
from publisher.core.plan import Plan
from publisher.core.urls import list_page_paths, make_path


def list_purges(keys: Iterable[str], prefixes: Iterable[str]) -> tuple[str, ...]:
    """List the URLs that each cache has to be purged of, for these keys to be seen as they are now.

    A cache keeps each spelling of a URL for itself, the misses too, and forgets the one that it is told. So
    all that lead to a key without any mistake are listed:

    * `+` as `%2B`, as the publisher writes it, and bare, as browsers and curl send what people paste;
    * for `index.html` also its folder, as people ask for it, and the folder without the slash, which is a
      miss until the folder has its page, and then a redirect.

    Query strings are not listed, for there is no end of them: a cache that keeps one for each makes its own
    mistakes. Neither is what an alias leads to; give the keys below the alias as well.

    Args:
        keys: Public keys of files, pages, pointers and records, in any order.
        prefixes: How each cache's URLs begin, up to and with the slash before the key.

    Returns:
        URLs without doubles: cache by cache, and in each as `keys` stand.
    """
    paths = tuple(dict.fromkeys(path for key in keys for path in _list_paths(key)))
    return tuple(dict.fromkeys(prefix + path for prefix in prefixes for path in paths))


def list_invalidations(plan: Plan) -> tuple[str, ...]:
    """List the URL paths that a plan will have the CDN forget: its index pages and sets of mutable files."""
    folders = (
        () if plan.pages is None else affected_folders((f.key for f in plan.files), root=plan.pages.root)
    )
    pages = (path for folder in folders for key in make_page_keys(folder) for path in list_page_paths(key))
    pointers = (f"/{make_path(file.key)}" for file in plan.swap_files)
    return tuple(dict.fromkeys((*pages, *pointers)))


def _list_paths(key: str) -> Iterator[str]:
    for path in _list_places(key):
        yield make_path(path)
        yield path


def _list_places(key: str) -> Iterator[str]:
    yield key
    folder, slash, name = key.rpartition("/")
    if name == HTML_NAME:
        yield folder + slash
        # Of the topmost page that is the same again.
        yield folder
