"""A site on the emulated AWS: two buckets, a user for each role, and the publisher's configuration.

Its policies are a small stand-in, enough that every role acts with credentials of its own and none as root.
"""

import shutil
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from publisher.core.profile import Duty
from publisher.documents.profile import load_profile
from sandbox.ministack import REGION, Credentials, Ministack, local_config

STAGING = "staging"
PUBLIC = "public"
RM = "rm"


@dataclass(frozen=True, slots=True)
class Site:
    """A provisioned site: where its configuration is, and everybody's credentials by role."""

    endpoint: str
    config: Path
    credentials: Mapping[str, Credentials]

    def environment(self, role: str) -> dict[str, str]:
        """Give what a process needs in its environment to act as `role`."""
        credentials = self.credentials[role]
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": credentials.access_key_id,
            "AWS_SECRET_ACCESS_KEY": credentials.secret_access_key,
            "AWS_DEFAULT_REGION": REGION,
            "NO_PROXY": "127.0.0.1",
            "PUBLISHER_CONFIG": str(self.config),
        }


def provision(server: Ministack, folder: Path, profile: Path) -> Site:
    """Make the buckets, the users and, in `folder`, publisher.toml for `profile`."""
    with closing(
        server.root_session().client("s3", endpoint_url=server.endpoint, config=local_config())
    ) as client:
        for bucket in (STAGING, PUBLIC):
            client.create_bucket(Bucket=bucket)
            client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    roles = load_profile(profile).roles.values()
    credentials = {
        role.name: server.new_user(role.name, _allow_role(role.name, delivers=role.duty is Duty.DELIVERS))
        for role in roles
    }
    credentials[RM] = server.new_user(RM, _allow_rm())
    shutil.copy(profile, folder / "profile.toml")
    config = folder / "publisher.toml"
    config.write_text(
        "schema = 1\n"
        'profile = "profile.toml"\n'
        f"roles = {sorted(role.name for role in roles)}\n\n"
        f'[aws]\nregion = "{REGION}"\nstaging_bucket = "{STAGING}"\npublic_bucket = "{PUBLIC}"\n',
        "utf-8",
    )
    return Site(server.endpoint, config, credentials)


def _allow_role(role: str, *, delivers: bool) -> dict[str, object]:
    own = f"arn:aws:s3:::{STAGING}/{role}/*"
    hold = f"arn:aws:s3:::{STAGING}/_hold/{role}/*"
    statements: list[dict[str, object]] = [_allow(["s3:PutObject"], [hold])]
    if delivers:
        statements += [
            _allow(["s3:PutObject", "s3:GetObject", "s3:DeleteObject"], [own]),
            {
                **_allow(["s3:ListBucket"], [f"arn:aws:s3:::{STAGING}"]),
                "Condition": {"StringLike": {"s3:prefix": f"{role}/*"}},
            },
        ]
    return {"Version": "2012-10-17", "Statement": statements}


def _allow_rm() -> dict[str, object]:
    buckets = [f"arn:aws:s3:::{STAGING}", f"arn:aws:s3:::{PUBLIC}"]
    statements = [
        _allow(["s3:ListBucket"], buckets),
        _allow(["s3:GetObject", "s3:GetObjectVersion"], [f"{bucket}/*" for bucket in buckets]),
        _allow(["s3:PutObject"], [f"{buckets[0]}/_rm/*", f"{buckets[0]}/_state/*", f"{buckets[1]}/*"]),
    ]
    return {"Version": "2012-10-17", "Statement": statements}


def _allow(actions: list[str], resources: list[str]) -> dict[str, object]:
    return {"Effect": "Allow", "Action": actions, "Resource": resources}
