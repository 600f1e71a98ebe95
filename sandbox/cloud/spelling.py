"""How one makes a resource: from the names of Pulumi's inputs to those of AWS's calls, losing none."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from mypy_boto3_cloudfront.client import CloudFrontClient
    from mypy_boto3_iam.client import IAMClient
    from mypy_boto3_s3.client import S3Client

Values = dict[str, Any]

_NAMES = {
    "id": "ID",
    "sseAlgorithm": "SSEAlgorithm",
    "minTtl": "MinTTL",
    "defaultTtl": "DefaultTTL",
    "maxTtl": "MaxTTL",
    "errorCachingMinTtl": "ErrorCachingMinTTL",
}
"""Where AWS's spelling is not Pulumi's with a capital letter."""


@dataclass(frozen=True, slots=True)
class Clients:
    """The clients of root, made before the first resource is: making one is not safe for threads."""

    s3: "S3Client"
    iam: "IAMClient"
    cloudfront: "CloudFrontClient"
    # Its stubs are no part of the locked environment.
    sns: Any


Create = Callable[[Clients, Values], tuple[str, Values]]
"""Makes one resource and answers its id and what AWS made up.

It takes what it uses out of the inputs. Whatever is left in them in the end was not provided for, and stops
the deployment.
"""


def spell(value: object) -> Any:
    """Spell inputs as AWS does, at any depth. Its clients refuse names that they do not know."""
    if isinstance(value, Mapping):
        table = cast("Mapping[str, object]", value)
        return {_NAMES.get(name, name[:1].upper() + name[1:]): spell(each) for name, each in table.items()}
    if isinstance(value, list):
        return [spell(each) for each in cast("list[object]", value)]
    return value


def count(items: list[Any]) -> Values:
    """Give a list as CloudFront wants it, with its length."""
    return {"Quantity": len(items), "Items": items} if items else {"Quantity": 0}


def plain(value: object) -> Any:
    """Make whole numbers whole again: on their way they became floats, which AWS's clients refuse."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in cast("Mapping[str, object]", value).items()}
    if isinstance(value, list):
        return [plain(each) for each in cast("list[object]", value)]
    return value
