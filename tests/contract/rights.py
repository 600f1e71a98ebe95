"""Which AWS permissions each port method needs: the table between what is asked for and what is granted."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from publisher.config import Config
from publisher.core.plan import Version

ACCOUNT = "123456789012"

Arguments = Mapping[str, Any]


@dataclass(frozen=True)
class Right:
    """An action on a resource, with the condition keys that the request's headers and parameters set."""

    action: str
    resource: str
    context: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Asked:
    """One call of a port method by a role, and whether the answer was that there is nothing."""

    role: str
    port: str
    method: str
    arguments: Arguments
    absent: bool = False


@dataclass(frozen=True)
class Call:
    """What a port method sends to AWS first (None: nothing), and every right that it may need."""

    operation: str | None
    rights: Callable[["Names", Arguments], tuple[Right, ...]]


@dataclass(frozen=True)
class Names:
    """The ARNs that the publisher addresses, made from its configuration and nothing else."""

    config: Config

    def bucket(self, port: str) -> str:
        name = self.config.staging_bucket if port == "staging" else self.config.public_bucket
        return f"arn:aws:s3:::{name}"

    @property
    def distribution(self) -> str:
        return f"arn:aws:cloudfront::{ACCOUNT}:distribution/{self.config.distribution_id}"

    def find_rights(self, asked: Asked) -> tuple[Right, ...]:
        """Translate a call; a port method that the table does not have is an error."""
        return CALLS[asked.port, asked.method].rights(self, asked.arguments)


def _object(port: str, action: str) -> Callable[[Names, Arguments], tuple[Right, ...]]:
    return lambda names, given: (Right(action, f"{names.bucket(port)}/{given['key']}"),)


def _pinned(port: str, argument: str, action: str) -> Callable[[Names, Arguments], tuple[Right, ...]]:
    def find(names: Names, given: Arguments) -> tuple[Right, ...]:
        return (Right(action, f"{names.bucket(port)}/{cast('Version', given[argument]).key}"),)

    return find


def _list(port: str) -> Callable[[Names, Arguments], tuple[Right, ...]]:
    def find(names: Names, given: Arguments) -> tuple[Right, ...]:
        return (Right("s3:ListBucket", names.bucket(port), {"s3:prefix": given["prefix"]}),)

    return find


def _look_at_bucket(port: str) -> Callable[[Names, Arguments], tuple[Right, ...]]:
    # HEAD of a bucket names no prefix.
    return lambda names, given: (Right("s3:ListBucket", names.bucket(port)),)


def _put(names: Names, given: Arguments, port: str = "staging", **condition: str) -> tuple[Right, ...]:
    return (_write(f"{names.bucket(port)}/{given['key']}", **condition),)


def _write(resource: str, **condition: str) -> Right:
    headers = {f"s3:{name.replace('_', '-')}": value for name, value in condition.items()}
    return Right("s3:PutObject", resource, {"s3:ObjectCreationOperation": "true", **headers})


def _copy(source_port: str, **condition: str) -> Callable[[Names, Arguments], tuple[Right, ...]]:
    def find(names: Names, given: Arguments) -> tuple[Right, ...]:
        source = f"{names.bucket(source_port)}/{cast('Version', given['source']).key}"
        target = f"{names.bucket('public')}/{given['key']}"
        return (
            Right("s3:GetObject", source),
            Right("s3:GetObjectVersion", source),
            _write(target, **condition),
            # The digest, if the answer to the copy does not tell it.
            Right("s3:GetObjectVersion", target),
        )

    return find


def _store(action: str) -> Callable[[Names, Arguments], tuple[Right, ...]]:
    return lambda names, given: (Right(f"cloudfront-keyvaluestore:{action}", names.config.kvs_arn),)


def _cdn(action: str) -> Callable[[Names, Arguments], tuple[Right, ...]]:
    return lambda names, given: (Right(f"cloudfront:{action}", names.distribution),)


_READS = {
    (port, method): call
    for port in ("staging", "public")
    for method, call in {
        "list_keys": Call("ListObjectsV2", _list(port)),
        "list_objects": Call("ListObjectsV2", _list(port)),
        "describe": Call("HeadObject", _object(port, "s3:GetObject")),
        "read": Call("GetObject", _object(port, "s3:GetObject")),
        "compute_digest": Call("GetObject", _pinned(port, "version", "s3:GetObjectVersion")),
        "stream": Call("GetObject", _pinned(port, "source", "s3:GetObject")),
        "now": Call("HeadBucket", _look_at_bucket(port)),
    }.items()
}

CALLS: Mapping[tuple[str, str], Call] = {
    **_READS,
    ("staging", "upload"): Call("PutObject", _put),
    ("staging", "put"): Call("PutObject", _put),
    ("staging", "mark_deleted"): Call("DeleteObject", _object("staging", "s3:DeleteObject")),
    ("staging", "create"): Call("PutObject", lambda names, given: _put(names, given, if_none_match="*")),
    ("staging", "replace"): Call(
        "PutObject", lambda names, given: _put(names, given, if_match=given["etag"])
    ),
    # Whoever follows the link does so with the rights of who signed it.
    ("staging", "sign_link"): Call(None, _pinned("staging", "source", "s3:GetObjectVersion")),
    ("public", "copy_staged"): Call("CopyObject", _copy("staging")),
    ("public", "create"): Call(
        "PutObject", lambda names, given: _put(names, given, "public", if_none_match="*")
    ),
    ("public", "replace"): Call(
        "PutObject", lambda names, given: _put(names, given, "public", if_match=given["etag"])
    ),
    ("public", "place"): Call("CopyObject", _copy("public", if_none_match="*")),
    ("gate", "read_etag"): Call("DescribeKeyValueStore", _store("DescribeKeyValueStore")),
    ("gate", "read_entries"): Call("ListKeys", _store("ListKeys")),
    ("gate", "update"): Call("UpdateKeys", _store("UpdateKeys")),
    ("cdn", "invalidate"): Call("CreateInvalidation", _cdn("CreateInvalidation")),
    ("cdn", "is_invalidated"): Call("GetInvalidation", _cdn("GetInvalidation")),
}
"""Every method of the ports that speak to AWS with a role's rights."""
