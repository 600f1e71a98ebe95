"""Everybody's credentials as files: an AWS profile and an .env file for each role, for people."""

import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox.ministack import REGION
from sandbox.site import KVS_ENDPOINT, Site


@dataclass(frozen=True, slots=True)
class Handout:
    """Where the files are. A shell that reads `shell` (`. FILE`) then has every role's profile."""

    shell: Path
    env_files: Mapping[str, Path]


def hand_out(site: Site, folder: Path) -> Handout:
    """Write the files into `folder`; only their owner may read those with credentials."""
    folder = folder.resolve()
    config, credentials = folder / "aws" / "config", folder / "aws" / "credentials"
    _write(config, _write_profiles(site))
    _write(credentials, _write_credentials(site))
    env_files = {role: folder / f"{role}.env" for role in site.credentials}
    for role, path in env_files.items():
        _write(path, _write_variables(site.environment(role)))
    shell = folder / "sandbox.env"
    _write(shell, _write_shell(site, config, credentials))
    return Handout(shell, env_files)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_text(text, "utf-8")


def _write_profiles(site: Site) -> str:
    profiles = [
        f"[profile {role}]\n"
        f"region = {REGION}\n"
        f"endpoint_url = {site.endpoint}\n"
        f"ca_bundle = {site.trust}\n"
        "services = sandbox\n"
        # The store then knows the digest of the whole file, and not one of its parts.
        "s3 =\n  multipart_threshold = 5GB\n"
        for role in site.credentials
    ]
    services = f"[services sandbox]\ncloudfront_keyvaluestore =\n  endpoint_url = {KVS_ENDPOINT}\n"
    return "\n".join([*profiles, services])


def _write_credentials(site: Site) -> str:
    return "\n".join(
        f"[{role}]\n"
        f"aws_access_key_id = {session.access_key_id}\n"
        f"aws_secret_access_key = {session.secret_access_key}\n"
        f"aws_session_token = {session.token}\n"
        for role, session in site.credentials.items()
    )


def _write_variables(variables: Mapping[str, str]) -> str:
    return "".join(f"{name}={shlex.quote(value)}\n" for name, value in variables.items())


def _write_shell(site: Site, config: Path, credentials: Path) -> str:
    around = site.surroundings()
    variables = {
        "AWS_CONFIG_FILE": str(config),
        "AWS_SHARED_CREDENTIALS_FILE": str(credentials),
        **{
            name: around[name]
            for name in ("AWS_EC2_METADATA_DISABLED", "HTTPS_PROXY", "NO_PROXY", "PUBLISHER_CONFIG")
        },
        # Only the release manager's commands look at them.
        **site.release_manager(),
    }
    lines = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    tools = shlex.quote(str(Path(sys.executable).parent))
    return "\n".join(
        [
            "# Variables like these would be stronger than a profile.",
            "unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_ENDPOINT_URL AWS_CA_BUNDLE",
            "unset https_proxy no_proxy",
            *lines,
            f'export PATH={tools}:"$PATH"',
            "",
        ]
    )
