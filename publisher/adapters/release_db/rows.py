"""The API's JSON as the core's rows, and back; whatever cannot be understood is an error."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import cast

from publisher.core.listing import FileRow, FoundFile, FoundRelease, ReleaseRow
from publisher.errors import ListingError

_SIDECARS = {
    ".asc": "gpg_signature_file",
    ".sig": "sigstore_signature_file",
    ".crt": "sigstore_cert_file",
    ".sigstore": "sigstore_bundle_file",
    ".spdx.json": "sbom_spdx2_file",
}


def encode_release(row: ReleaseRow) -> dict[str, object]:
    """Give the fields that may change; the slug is the page's address."""
    date = row.release_date.astimezone(UTC).replace(tzinfo=None)
    return {
        "name": row.name,
        "version": row.version,
        "is_published": row.is_published,
        "is_latest": row.is_latest,
        "release_date": f"{date.isoformat()}Z",
        "pre_release": row.pre_release,
        "release_notes_url": row.release_notes_url,
        "show_on_download_page": row.show_on_download_page,
    }


def encode_file(row: FileRow) -> dict[str, object]:
    """Give the fields of a file, but its release; `os` is still a slug."""
    return {
        "name": row.name,
        "slug": row.slug,
        "os": row.os,
        "description": row.description,
        "is_source": row.is_source,
        "url": row.url,
        "sha256_sum": row.sha256,
        "filesize": row.size,
        "download_button": row.button,
        **{field: row.sidecars.get(suffix, "") for suffix, field in _SIDECARS.items()},
    }


def find_changes(before: FileRow, after: FileRow) -> dict[str, object]:
    """Give the fields that a change has to send, as `encode_file` does.

    Sidecars differ wherever the file's URL does, and so go with it, as the server demands.
    """
    old, new = encode_file(before), encode_file(after)
    fields = {name: value for name, value in new.items() if value != old[name]}
    if "sha256_sum" in fields:
        # What stands there is that of other bytes.
        fields["md5_sum"] = ""
    return fields


def decode_release(row: object) -> FoundRelease:
    """Read a release. Raises `ListingError` if it cannot be understood."""
    return FoundRelease(
        read_id(row, "resource_uri"),
        ReleaseRow(
            name=read_text(row, "name"),
            slug=read_text(row, "slug"),
            version=_number(row, "version"),
            is_published=_flag(row, "is_published"),
            is_latest=_flag(row, "is_latest"),
            pre_release=_flag(row, "pre_release"),
            release_date=_date(row, "release_date"),
            release_notes_url=read_text(row, "release_notes_url"),
            show_on_download_page=_flag(row, "show_on_download_page"),
        ),
    )


def decode_file(row: object, systems: Mapping[int, str]) -> FoundFile:
    """Read a file; `systems` are the slugs by id. Raises `ListingError` if it cannot be understood."""
    system = systems.get(read_id(row, "os"))
    if system is None:
        raise _row_error("os")
    sidecars = {suffix: read_text(row, field) for suffix, field in _SIDECARS.items()}
    return FoundFile(
        read_id(row, "resource_uri"),
        read_id(row, "release"),
        FileRow(
            name=read_text(row, "name"),
            slug=read_text(row, "slug"),
            os=system,
            url=read_text(row, "url"),
            description=read_text(row, "description"),
            is_source=_flag(row, "is_source"),
            sha256=read_text(row, "sha256_sum"),
            size=_number(row, "filesize"),
            button=_flag(row, "download_button"),
            sidecars={suffix: url for suffix, url in sidecars.items() if url},
        ),
    )


def _row_error(field: str) -> ListingError:
    return ListingError(
        f"the release database gave a row whose {field} cannot be understood",
        "tell the publisher's maintainers",
    )


def _get(row: object, field: str) -> object:
    return cast("dict[str, object]", row).get(field) if isinstance(row, dict) else None


def read_text(row: object, field: str) -> str:
    """Give a text field."""
    value = _get(row, field)
    if not isinstance(value, str):
        raise _row_error(field)
    return value


def _flag(row: object, field: str) -> bool:
    value = _get(row, field)
    if not isinstance(value, bool):
        raise _row_error(field)
    return value


def _number(row: object, field: str) -> int:
    value = _get(row, field)
    if not isinstance(value, int) or isinstance(value, bool):
        raise _row_error(field)
    return value


def _date(row: object, field: str) -> datetime:
    try:
        date = datetime.fromisoformat(read_text(row, field))
    except ValueError as error:
        raise _row_error(field) from error
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def read_id(row: object, field: str) -> int:
    """Give the id at the end of a row's URI; the rest differs from version to version."""
    match = re.search(r"/([1-9][0-9]*)/$", read_text(row, field))
    if match is None:
        raise _row_error(field)
    return int(match[1])
