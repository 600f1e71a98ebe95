"""Amazon CloudFront's control plane: letting edges forget."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from publisher.adapters.aws import make_config, opening, translate_error
from publisher.errors import EdgeError

if TYPE_CHECKING:
    from mypy_boto3_cloudfront.client import CloudFrontClient

MAX_PATHS = 3000
"""The most paths that may be under way at once for a distribution."""


def make_client(region: str) -> "CloudFrontClient":
    """Make a client with the usual credential chain."""
    with opening():
        return boto3.session.Session().client(
            "cloudfront", region_name=region, config=make_config(connections=1)
        )


class CloudFront:
    """One distribution."""

    def __init__(self, client: "CloudFrontClient", distribution: str) -> None:
        self._client = client
        self._distribution = distribution

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

    def is_invalidated(self, invalidation: str) -> bool:
        """Tell whether an invalidation is complete."""
        try:
            answer = self._client.get_invalidation(DistributionId=self._distribution, Id=invalidation)
        except (ClientError, BotoCoreError) as error:
            raise translate_error(error, f"cannot look at invalidation {invalidation}") from error
        return answer["Invalidation"]["Status"] == "Completed"
