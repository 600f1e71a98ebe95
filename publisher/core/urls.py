"""URLs of public keys, and whether one serves what it should."""

from urllib.parse import quote


def make_path(key: str) -> str:
    """Give the URL path of a key, relative to its site.

    The only character of a key that needs it is `+`, which S3 would read as a blank.
    """
    return quote(key, safe="/")


def list_page_paths(key: str) -> tuple[str, ...]:
    """List the URL paths by which an index page is asked for, as edges know it: its own, and its folder's."""
    folder, slash, name = key.rpartition("/")
    paths = [f"/{make_path(key)}"]
    if name == "index.html":
        paths += [f"/{make_path(folder)}{slash}", f"/{make_path(folder)}"]
    return tuple(dict.fromkeys(paths))


def describe_fault(*, status: int, size: int | None, expected_size: int) -> str | None:
    """Say how an answer's status or size differs from a file's, or answer None if they do not."""
    if status != 200:
        return f"status {status}"
    if size != expected_size:
        found = "no size" if size is None else f"{size} bytes"
        return f"{found} instead of {expected_size} bytes"
    return None


def is_same_etag(found: str | None, expected: str) -> bool:
    """Tell whether two ETags are one, quoted or not: caches pass them on, some of them as weak ones."""
    return (found or "").removeprefix("W/").strip('"') == expected.strip('"')
