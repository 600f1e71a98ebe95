"""Amazon CloudFront's control plane: letting edges forget."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import boto3
from botocore.exceptions import BotoCoreError, ClientError, WaiterError

from publisher.adapters.aws import make_config, translate_error
from publisher.errors import EdgeError

if TYPE_CHECKING:
    from mypy_boto3_cloudfront.client import CloudFrontClient
    from mypy_boto3_cloudfront.type_defs import WaiterConfigTypeDef

MAX_PATHS = 3000
"""The most paths that may be under way at once for a distribution."""


def make_client(region: str) -> "CloudFrontClient":
    """Make a client with the usual credential chain."""
    return boto3.session.Session().client("cloudfront", region_name=region, config=make_config(connections=1))


class CloudFront:
    """One distribution."""

    def __init__(
        self,
        client: "CloudFrontClient",
        distribution: str,
        *,
        poll_seconds: int = 5,
        patience_seconds: int = 600,
    ) -> None:
        self._client = client
        self._distribution = distribution
        self._waits: WaiterConfigTypeDef = {
            "Delay": poll_seconds,
            "MaxAttempts": patience_seconds // poll_seconds,
        }

    def invalidate(self, paths: Sequence[str], reference: str) -> str:
        """Let every edge forget these URL paths, and answer the invalidation's id."""
        if len(paths) > MAX_PATHS:
            raise EdgeError(f"found {len(paths)} paths to invalidate, expected at most {MAX_PATHS}")
        try:
            answer = self._client.create_invalidation(
                DistributionId=self._distribution,
                InvalidationBatch={
                    "Paths": {"Quantity": len(paths), "Items": list(paths)},
                    "CallerReference": reference,
                },
            )
        except (ClientError, BotoCoreError) as error:
            raise translate_error(error, "cannot invalidate") from error
        return answer["Invalidation"]["Id"]

    def wait_invalidated(self, invalidation: str) -> None:
        """Wait until an invalidation is complete, for ten minutes at most."""
        waiter = self._client.get_waiter("invalidation_completed")
        try:
            waiter.wait(
                DistributionId=self._distribution,
                Id=invalidation,
                WaiterConfig=self._waits,
            )
        except WaiterError as error:
            if "Error" in error.last_response:
                refused = ClientError(error.last_response, "GetInvalidation")
                raise translate_error(refused, f"cannot look at invalidation {invalidation}") from error
            raise EdgeError(
                f"invalidation {invalidation} is not complete: {error}", "run the same command again"
            ) from error
        except BotoCoreError as error:
            raise translate_error(error, f"cannot look at invalidation {invalidation}") from error
