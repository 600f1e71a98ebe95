"""The options that all commands share, and the world they lead to: the one place where adapters are wired."""

import os
import secrets
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from publisher import __version__
from publisher.config import Config, load_config
from publisher.core.profile import Profile
from publisher.documents.profile import load_profile
from publisher.errors import ConfigError
from publisher.output import Output
from publisher.ports import (
    Announcer,
    Hook,
    OpenPgp,
    Public,
    Purger,
    ReleaseDatabase,
    SigningService,
    Verifier,
)
from publisher.workflow.releases_json import NAME, ReleasesJson
from publisher.workflow.world import Site, Visitor, World

_THREADS = 16
_AGENT = f"publish-gate/{__version__}"


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
    profile = load_profile(config.profile)
    client = s3.make_client(config.region, _THREADS)
    public = s3.S3Public(client, config.public_bucket, config.staging_bucket)
    return World(
        profile=profile,
        provisioned=config.roles,
        staging=s3.S3Staging(client, config.staging_bucket),
        public=public,
        caller=StsCaller(config.region),
        gate=kvs.KeyValueStore(kvs.make_client(config.region), config.kvs_arn),
        cdn=cloudfront.CloudFront(cloudfront.make_client(config.region), config.distribution_id),
        web=Web(_THREADS, _AGENT),
        verifier=_find_verifier(config),
        signing=_find_signing(config),
        openpgp=_find_openpgp(config, profile),
        parallel=Threads(_THREADS),
        new_id=lambda: secrets.token_hex(16),
        sleep=time.sleep,
        monotonic=time.monotonic,
        observer=settings.make_output(),
        site=Site(config.cdn_url, config.public_base_url),
        times=config.times,
        signed_records=config.signed_records,
        database=_find_database(config, public, profile),
        forum=_find_forum(config),
        hook=_find_hook(config),
        outer_caches=config.outer_caches,
        listing_key=profile.key_prefix + NAME if config.listing and config.listing.url is None else None,
        purger=_find_purger(config),
    )


def visit(settings: Settings) -> Visitor:
    """Make what anybody has who looks at the public site: no SDK of AWS, no credentials."""
    from publisher.adapters.threads import Threads
    from publisher.adapters.web import Web

    config = load_config(Path(settings.config))
    return Visitor(
        profile=load_profile(config.profile),
        web=Web(_THREADS, _AGENT),
        verifier=_find_verifier(config),
        parallel=Threads(_THREADS),
        sleep=time.sleep,
        monotonic=time.monotonic,
        observer=settings.make_output(),
        site=Site(config.cdn_url, config.public_base_url),
        signed_records=config.signed_records,
    )


def _find_database(config: Config, public: Public, profile: Profile) -> Callable[[], ReleaseDatabase] | None:
    site = config.listing
    if site is None:
        return None
    if site.url is None:
        return lambda: ReleasesJson(public, profile)

    @cache
    def make() -> ReleaseDatabase:
        from publisher.adapters.http import Http
        from publisher.adapters.release_db import ReleaseDb

        token = _read_secret("PUBLISHER_LISTING_TOKEN", "the staff user's token of the release database")
        key = _find_secret("PUBLISHER_LISTING_API_KEY")
        return ReleaseDb(Http(_AGENT), site.url or "", token, api_key=key)

    return make


def _find_forum(config: Config) -> Callable[[], Announcer] | None:
    site = config.announce
    if site.discourse_url is None:
        return None

    @cache
    def make() -> Announcer:
        from publisher.adapters.discourse import Discourse

        key = _read_secret("PUBLISHER_DISCOURSE_KEY", "an API key of the forum")
        user = _read_secret("PUBLISHER_DISCOURSE_USER", "the forum's user who posts")
        category = site.discourse_category or 0
        return Discourse(site.discourse_url or "", key, user, category, user_agent=_AGENT)

    return make


def _find_hook(config: Config) -> Callable[[], Hook] | None:
    url = config.announce.webhook_url
    if url is None:
        return None

    @cache
    def make() -> Hook:
        from publisher.adapters.webhook import Webhook

        secret = _read_secret("PUBLISHER_WEBHOOK_SECRET", "the secret that its events are signed with")
        return Webhook(url, secret.encode(), user_agent=_AGENT)

    return make


def _find_purger(config: Config) -> Callable[[], Purger] | None:
    if not config.outer_caches:
        return None

    @cache
    def make() -> Purger:
        from publisher.adapters.outer_cache import HttpPurge

        return HttpPurge(_AGENT, _THREADS)

    return make


def _read_secret(name: str, what: str) -> str:
    """Read a secret from the environment variable `name`, or from the file that `name`_FILE names."""
    text = _find_secret(name)
    if text is None:
        cure = f"set {name}, or {name}_FILE to a file with it"
        raise ConfigError(f"{name} is not set, expected {what}", cure)
    return text


def _find_secret(name: str) -> str | None:
    path = os.environ.get(f"{name}_FILE")
    try:
        text = Path(path).read_text("utf-8") if path else os.environ.get(name, "")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the file that {name}_FILE names: {error}") from error
    return text.strip() or None


def _find_verifier(config: Config) -> Callable[[], Verifier]:
    @cache
    def make() -> Verifier:
        from publisher.adapters.sigstore import SigstoreVerifier, load_trust

        return SigstoreVerifier(load_trust(config.trust_config))

    return make


def _find_signing(config: Config) -> Callable[[], SigningService]:
    @cache
    def make() -> SigningService:
        from publisher.adapters.sigstore import SigstoreSigning, load_trust

        return SigstoreSigning(load_trust(config.trust_config), os.environ, interactive=sys.stdin.isatty())

    return make


def _find_openpgp(config: Config, profile: Profile) -> Callable[[], OpenPgp]:
    @cache
    def make() -> OpenPgp:
        from publisher.adapters.openpgp import SequoiaOpenPgp

        return SequoiaOpenPgp(config.profile.parent / profile.keyring if profile.keyring else None)

    return make
