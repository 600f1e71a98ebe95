"""AWS STS: whose credentials are in use, and until when."""

from datetime import datetime

import boto3
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    HTTPClientError,
)
from botocore.exceptions import (
    ConnectionError as NoConnectionError,
)

from publisher.errors import AccessDeniedError, StoreError
from publisher.ports import Session


class StsCaller:
    """The caller's identity, asked once."""

    def __init__(self, region: str) -> None:
        self._region = region
        self._arn = ""

    def who(self) -> str:
        """Give the ARN of the credentials in use.

        Raises:
            AccessDeniedError: There are none, or they are not (or no longer) valid.
            StoreError: AWS could not be asked.
        """
        if not self._arn:
            try:
                config = Config(retries={"mode": "standard", "total_max_attempts": 5})
                client = boto3.session.Session().client("sts", region_name=self._region, config=config)
                self._arn = client.get_caller_identity()["Arn"]
            except (HTTPClientError, NoConnectionError) as error:
                raise StoreError(
                    f"AWS cannot be asked whose credentials are in use: {error}", "check the network"
                ) from error
            except (ClientError, BotoCoreError) as error:
                raise AccessDeniedError(
                    f"the AWS credentials in use are not valid: {error}",
                    "log in again, or set AWS_PROFILE to the profile of your role",
                ) from error
        return self._arn

    def session(self) -> Session | None:
        """Tell when the credentials in use end, or answer None if they are lasting ones."""
        try:
            found = boto3.session.Session().get_credentials()
            token = found.get_frozen_credentials().token if found else None
        # A bare RuntimeError is what the SDK makes of credentials that have ended and cannot be renewed.
        except (ClientError, BotoCoreError, RuntimeError) as error:
            raise AccessDeniedError(
                f"the AWS credentials in use are not valid: {error}",
                "log in again, or set AWS_PROFILE to the profile of your role",
            ) from error
        if not token:
            return None
        # Known of credentials that the SDK renews by itself; it offers no other way to ask for it.
        until = getattr(found, "_expiry_time", None)
        return Session(until if isinstance(until, datetime) else None)
