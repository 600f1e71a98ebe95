"""URLs of public keys, and whether one serves what it should."""

from urllib.parse import quote


def make_path(key: str) -> str:
    """Give the URL path of a key, relative to its site.

    The only character of a key that needs it is `+`, which S3 would read as a blank.
    """
    return quote(key, safe="/")


def describe_fault(
    *, status: int, size: int | None, etag: str | None, expected_size: int, expected_etag: str
) -> str | None:
    """Say how an answer differs from a file's, or answer None if it does not.

    ETags are compared without quotes: caches pass them on, some of them as weak ones.
    """
    if status != 200:
        return f"status {status}"
    if size != expected_size:
        found = "no size" if size is None else f"{size} bytes"
        return f"{found} instead of {expected_size} bytes"
    bare, expected = (etag or "").removeprefix("W/").strip('"'), expected_etag.strip('"')
    return None if bare == expected else f"ETag {bare or 'none'} instead of {expected}"
