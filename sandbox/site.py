"""A site on the emulated AWS: the Pulumi program deployed for a profile, and a session of each role."""

import json
import shutil
from collections.abc import Generator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from publisher.core.profile import Duty, Profile, Role
from publisher.documents.profile import load_profile
from sandbox.certificate import make_certificate
from sandbox.deploy import DeployError, Deployment, deploy
from sandbox.kvs_proxy import HOST, run_kvs_proxy
from sandbox.ministack import REGION, Credentials, Ministack, local_config, open_session, run_ministack
from sandbox.neighbours import TRUST_CONFIG, Neighbours, run_neighbours

PREFIX = "sandbox"
STAGING = f"{PREFIX}-staging"
PUBLIC = f"{PREFIX}-public"
RM = "rm"
AUDITOR = "auditor"
KVS_ENDPOINT = f"https://{HOST}"
SESSION_SECONDS = 12 * 3600
"""How long the sessions of the roles last: a day's work with a sandbox that is left running."""

# The names under which the program exports the roles that are in no profile.
_EXPORTED = {RM: "_rm", AUDITOR: "_auditor"}

# For any role: so it is the role's trust alone that decides. See DEVIATIONS.
_MAY_ASK = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Resource": "*"}],
}
_MAY_SEE_THE_CDN = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Action": [
                "cloudfront:Get*",
                "cloudfront:List*",
                "cloudfront-keyvaluestore:DescribeKeyValueStore",
                "cloudfront-keyvaluestore:GetKey",
                "cloudfront-keyvaluestore:ListKeys",
            ],
            "Resource": "*",
        }
    ],
}


@dataclass(frozen=True, slots=True)
class Timing:
    """The gate's times in seconds, short enough to wait for."""

    lag: int = 1
    settle: int = 4
    error_ttl: int = 2


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a site needs besides AWS: the certificate to trust, the way to the KeyValueStore, the others."""

    trust: Path
    proxy: str
    neighbours: Neighbours


@dataclass(frozen=True, slots=True)
class Site:
    """A provisioned site. `config` is its publisher.toml; `credentials` are sessions, by role.

    `endpoint` speaks TLS with the certificate in `trust`. `proxy` leads to the KeyValueStore. `users` are who
    opened the sessions, and `edge` is the CDN's own plumbing, which reads what was deployed.
    """

    server: Ministack = field(repr=False)
    endpoint: str
    trust: Path
    proxy: str
    neighbours: Neighbours = field(repr=False)
    config: Path
    deployment: Deployment = field(repr=False)
    users: Mapping[str, Credentials] = field(repr=False)
    edge: Credentials = field(repr=False)
    credentials: Mapping[str, Credentials] = field(repr=False)

    @property
    def distribution_id(self) -> str:
        """Give the id of the distribution."""
        return str(self.deployment.outputs["distributionId"])

    @property
    def distribution_host(self) -> str:
        """Give the host name of the distribution, by which the emulator knows it."""
        return urlsplit(str(self.deployment.outputs["cdnUrl"])).hostname or ""

    @property
    def kvs_arn(self) -> str:
        """Give the ARN of the gate's store."""
        return str(self.deployment.outputs["kvsArn"])

    def role_arn(self, role: str) -> str:
        """Give the ARN of the role itself, not of its session."""
        return str(self.deployment.outputs["roleArns"][_EXPORTED.get(role, role)])

    def environment(self, role: str) -> dict[str, str]:
        """Give what a process needs in its environment to act as `role`."""
        credentials = self.credentials[role]
        return {
            "AWS_ACCESS_KEY_ID": credentials.access_key_id,
            "AWS_SECRET_ACCESS_KEY": credentials.secret_access_key,
            "AWS_SESSION_TOKEN": credentials.token or "",
            **(self.release_manager() if role == RM else {}),
            **self.surroundings(),
        }

    def release_manager(self) -> dict[str, str]:
        """Give what the release manager has besides AWS: an identity token for the day, and keys."""
        login = self.neighbours.login
        token = self.neighbours.sigstore.make_token(login.name, login.issuer, lifetime=SESSION_SECONDS)
        return {"SIGSTORE_IDENTITY_TOKEN": token, **self.neighbours.credentials()}

    def surroundings(self) -> dict[str, str]:
        """Give what a process needs in its environment whoever it acts as; nothing in it is secret."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ENDPOINT_URL_CLOUDFRONT_KEYVALUESTORE": KVS_ENDPOINT,
            "AWS_CA_BUNDLE": str(self.trust),
            "AWS_DEFAULT_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
            "HTTPS_PROXY": self.proxy,
            "NO_PROXY": "127.0.0.1,localhost",
            "PUBLISHER_CONFIG": str(self.config),
        }

    def assume(self, role: str) -> Credentials:
        """Open a session of `role`, as the user whom it trusts; root takes no part."""
        session = open_session(self.users[role])
        with closing(
            session.client("sts", endpoint_url=self.endpoint, verify=str(self.trust), config=local_config())
        ) as sts:
            answer = sts.assume_role(
                RoleArn=self.role_arn(role), RoleSessionName=PREFIX, DurationSeconds=SESSION_SECONDS
            )
        made = answer["Credentials"]
        return Credentials(
            made["AccessKeyId"],
            made["SecretAccessKey"],
            answer["AssumedRoleUser"]["Arn"],
            made["SessionToken"],
        )


@contextmanager
def run_site(folder: Path, profile: Path, timing: Timing = Timing()) -> Generator[Site]:
    """Run an emulated AWS and a site for `profile` on it until the block ends; `folder` keeps its files.

    Whatever fails on the way, nothing is left running.

    Raises:
        ServerError, DeployError: There is no site.
    """
    # Other processes, in other folders, are given what is in it.
    folder = folder.resolve()
    with ExitStack() as stack:
        certificate = make_certificate(folder, f"*.{HOST}", HOST)
        server = stack.enter_context(run_ministack(certificate=certificate))
        port = urlsplit(server.secure_endpoint).port or 0
        proxy = stack.enter_context(run_kvs_proxy(port))
        neighbours = stack.enter_context(run_neighbours(load_profile(profile)))
        surroundings = Surroundings(certificate.file, proxy, neighbours)
        yield provision(server, folder, profile, surroundings=surroundings, timing=timing)


def provision(
    server: Ministack, folder: Path, profile: Path, *, surroundings: Surroundings, timing: Timing
) -> Site:
    """Deploy the program for `profile`, open the sessions, and write publisher.toml into `folder`.

    Args:
        server: Must have a secure endpoint: the buckets refuse what comes in the clear.
        folder: Where publisher.toml and a copy of the profile go.
        profile: The project's rules.
        surroundings: What the site needs besides AWS.
        timing: The gate's times.

    Raises:
        DeployError: There is no site, and what was made is of no use.
    """
    rules = load_profile(profile)
    names = [*rules.roles, RM, AUDITOR]
    if len(set(names)) < len(names):
        raise DeployError(
            f"found a role called {RM} or {AUDITOR} in {profile}, which the sandbox needs itself"
        )
    users = {name: server.new_user(f"{PREFIX}-{name}-user", _MAY_ASK) for name in names}
    deployment = deploy(server, _write_stack(rules, users, timing))
    text = surroundings.neighbours.rewrite(profile.read_text("utf-8"), rules)
    (folder / "profile.toml").write_text(text, "utf-8")
    if rules.keyring:
        shutil.copy(profile.parent / rules.keyring, folder / rules.keyring)
    surroundings.neighbours.sigstore.write_trust_config(folder / TRUST_CONFIG)
    config = folder / "publisher.toml"
    exported = str(deployment.outputs["publisherToml"])
    config.write_text(exported + surroundings.neighbours.write_config(rules), "utf-8")
    edge = server.new_user(f"{PREFIX}-edge", _MAY_SEE_THE_CDN)
    site = Site(
        server=server,
        endpoint=server.secure_endpoint,
        trust=surroundings.trust,
        proxy=surroundings.proxy,
        neighbours=surroundings.neighbours,
        config=config,
        deployment=deployment,
        users=users,
        edge=edge,
        credentials={},
    )
    return replace(site, credentials={name: site.assume(name) for name in names})


def point_at_edge(site: Site, url: str) -> None:
    """Write an edge's `url` into publisher.toml where the program wrote that of the distribution."""
    text = site.config.read_text("utf-8")
    site.config.write_text(
        text.replace(json.dumps(site.deployment.outputs["cdnUrl"]), json.dumps(url)), "utf-8"
    )


def put_cache_in_front(site: Site, url: str) -> None:
    """Let users download from a cache at `url`, and let the publisher know that it has to be purged."""
    lines = site.config.read_text("utf-8").splitlines()
    mine = json.dumps(url)
    lines = [f"public_base_url = {mine}" if line.startswith("public_base_url") else line for line in lines]
    lines += ["", "[[outer_cache]]", f"url_prefix = {mine}", ""]
    site.config.write_text("\n".join(lines), "utf-8")


def _write_stack(rules: Profile, users: Mapping[str, Credentials], timing: Timing) -> Mapping[str, object]:
    """Write the stack's values: the profile's roles, each of which one IAM user may assume."""

    def trust(name: str) -> dict[str, list[str]]:
        return {"principals": [users[name].arn]}

    def describe(role: Role) -> dict[str, object]:
        duty = "delivers" if role.duty is Duty.DELIVERS else "tests"
        return {"name": role.name, "duty": duty, "reads": list(role.reads), "trust": trust(role.name)}

    return {
        "prefix": PREFIX,
        "profile": "profile.toml",
        "publicFolders": sorted(_list_folders(rules)),
        "roles": [describe(role) for role in rules.roles.values()],
        "releaseManagers": trust(RM),
        "auditors": trust(AUDITOR),
        "maxSessionSeconds": SESSION_SECONDS,
        "lagSeconds": timing.lag,
        "settleSeconds": timing.settle,
        "errorTtlSeconds": timing.error_ttl,
        "enforceCreateOnly": True,
        "sigstoreTrustConfig": TRUST_CONFIG,
        **({} if _names_somebody(rules) else {"records": "unsigned"}),
    }


def _names_somebody(rules: Profile) -> bool:
    """Tell whether a profile says whose signatures count; without that, records cannot be signed."""
    accepted = rules.accepted
    return bool(accepted.everywhere or accepted.series or accepted.records)


def _list_folders(rules: Profile) -> set[str]:
    """List the folders that public keys begin with, as far as they are not made from a version."""
    first = {rule.key.partition("/")[0] for rule in rules.artifacts}
    return {"_pending", "_site", *(name for name in first if "{" not in name)}
