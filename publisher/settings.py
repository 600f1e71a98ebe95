"""The options that all commands share, and the world they lead to: the one place where adapters are wired."""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from publisher import __version__
from publisher.config import load_config
from publisher.documents.profile import load_profile
from publisher.output import Output
from publisher.workflow.world import Site, Visitor, World

_THREADS = 16


@dataclass
class Settings:
    """The options that every command has, wherever on the command line they stood."""

    config: str = "publisher.toml"
    as_json: bool = False
    quiet: bool = False
    verbose: bool = False
    command: str = "publisher"
    connect: "Callable[[Settings], World]" = field(default_factory=lambda: connect)
    visit: "Callable[[Settings], Visitor]" = field(default_factory=lambda: visit)

    def make_output(self) -> Output:
        """Make the output that these options ask for."""
        return Output(as_json=self.as_json, quiet=self.quiet)


def connect(settings: Settings) -> World:
    """Make the world that `settings` ask for; adapters and their SDKs are imported here, late."""
    from publisher.adapters import cloudfront, kvs, s3
    from publisher.adapters.sts import StsCaller
    from publisher.adapters.threads import Threads
    from publisher.adapters.web import Web

    config = load_config(Path(settings.config))
    client = s3.make_client(config.region, _THREADS)
    return World(
        profile=load_profile(config.profile),
        provisioned=config.roles,
        staging=s3.S3Staging(client, config.staging_bucket),
        public=s3.S3Public(client, config.public_bucket, config.staging_bucket),
        caller=StsCaller(config.region),
        gate=kvs.KeyValueStore(kvs.make_client(config.region), config.kvs_arn),
        cdn=cloudfront.CloudFront(cloudfront.make_client(config.region), config.distribution_id),
        web=Web(_THREADS, f"publish-gate/{__version__}"),
        parallel=Threads(_THREADS),
        new_id=lambda: secrets.token_hex(16),
        sleep=time.sleep,
        monotonic=time.monotonic,
        observer=settings.make_output(),
        site=Site(config.cdn_url, config.public_base_url),
        times=config.times,
    )


def visit(settings: Settings) -> Visitor:
    """Make what anybody has who looks at the public site: no SDK of AWS, no credentials."""
    from publisher.adapters.threads import Threads
    from publisher.adapters.web import Web

    config = load_config(Path(settings.config))
    return Visitor(
        profile=load_profile(config.profile),
        web=Web(_THREADS, f"publish-gate/{__version__}"),
        parallel=Threads(_THREADS),
        sleep=time.sleep,
        monotonic=time.monotonic,
        observer=settings.make_output(),
        site=Site(config.cdn_url, config.public_base_url),
    )
