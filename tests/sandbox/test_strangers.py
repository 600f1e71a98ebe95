"""Who has no role reads nothing: nobody at all, another distribution, a session that is none (any more)."""

import http.client
import secrets
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from urllib.parse import urlsplit

import botocore
import pytest
from botocore.config import Config

from sandbox.ministack import Credentials, local_config
from sandbox.site import PUBLIC, RM, STAGING, Site
from tests.sandbox.hands import Hands, split

STAGED = "staging:windows/9.0/a"
SERVED = "public:python/9.0/a"
HIDDEN = "public:_pending/p9/a"


@pytest.fixture(scope="module", autouse=True)
def seeds(root: Hands) -> None:
    for place in (STAGED, SERVED, HIDDEN):
        root.put(place)


def view(site: Site, host: str, path: str) -> int:
    """Ask the emulator's viewer endpoint as a distribution's viewer, and give the status."""
    with closing(http.client.HTTPConnection(urlsplit(site.server.endpoint).netloc, timeout=10)) as connection:
        connection.request("GET", path, headers={"Host": host, "X-Forwarded-Proto": "https"})
        return connection.getresponse().status


@pytest.mark.parametrize("place", [STAGED, SERVED, HIDDEN])
def test_nobody_reads_without_credentials(site: Site, hands: Mapping[str, Hands], place: str) -> None:
    nobody = Hands(
        site, Credentials("", ""), config=local_config().merge(Config(signature_version=botocore.UNSIGNED))
    )
    assert hands[RM].attempt("get", place) == "done"
    assert nobody.attempt("get", place) == "AccessDenied"
    assert nobody.attempt("put", place) == "AccessDenied"


@pytest.mark.parametrize("bucket", ["staging:", "public:"])
def test_nobody_lists_without_credentials(site: Site, hands: Mapping[str, Hands], bucket: str) -> None:
    nobody = Hands(
        site, Credentials("", ""), config=local_config().merge(Config(signature_version=botocore.UNSIGNED))
    )
    assert hands[RM].attempt("list", bucket) == "done"
    assert nobody.attempt("list", bucket) == "AccessDenied"


def test_the_sites_own_distribution_reads_the_public_bucket_and_cannot_tell_what_is_absent(
    site: Site,
) -> None:
    assert view(site, site.distribution_host, "/python/9.0/a") == http.client.OK
    assert view(site, site.distribution_host, "/python/9.0/absent") == http.client.NOT_FOUND
    assert view(site, site.distribution_host, "/windows/9.0/a") == http.client.NOT_FOUND


@pytest.mark.parametrize(("bucket", "path"), [(PUBLIC, "/python/9.0/a"), (STAGING, "/windows/9.0/a")])
def test_another_distribution_of_the_account_reads_nothing(
    site: Site, root: Hands, bucket: str, path: str
) -> None:
    own = root.cloudfront.get_distribution_config(Id=site.distribution_id)["DistributionConfig"]
    origin = own["Origins"]["Items"][0]
    # The same origin access control even: it signs, and is no permission.
    foreign = root.cloudfront.create_distribution(
        DistributionConfig={
            **own,
            "CallerReference": secrets.token_hex(8),
            "Origins": {
                "Quantity": 1,
                "Items": [{**origin, "DomainName": origin["DomainName"].replace(PUBLIC, bucket)}],
            },
            "CustomErrorResponses": {"Quantity": 0},
        }
    )["Distribution"]
    assert view(site, foreign["DomainName"], path) == http.client.FORBIDDEN
    assert view(site, site.distribution_host, "/python/9.0/a") == http.client.OK


@pytest.mark.parametrize("place", [STAGED, SERVED])
def test_nobody_comes_in_the_clear(site: Site, place: str) -> None:
    credentials = site.credentials[RM]
    assert Hands(site, credentials).attempt("get", place) == "done"
    assert Hands(site, credentials, clear=True).attempt("get", place) == "AccessDenied"


def test_a_user_who_may_assume_a_role_has_nothing_without_it(site: Site) -> None:
    user = Hands(site, site.users["windows"])
    assert user.attempt("assume", "windows") == "done"
    assert user.attempt("get", STAGED) == "AccessDenied"


@pytest.mark.parametrize(
    ("user", "role"), [(RM, "windows"), ("windows", RM), ("windows", "macos"), ("qa", "windows")]
)
def test_a_user_assumes_no_role_that_does_not_trust_him(site: Site, user: str, role: str) -> None:
    hands = Hands(site, site.users[user])
    assert hands.attempt("assume", user) == "done"
    assert hands.attempt("assume", role) == "AccessDenied"


def test_a_session_lasts_no_longer_than_its_time(site: Site) -> None:
    # Shorter than AWS allows, and than its client would send.
    short = Hands(
        site, site.users["windows"], config=local_config().merge(Config(parameter_validation=False))
    ).sts.assume_role(RoleArn=site.role_arn("windows"), RoleSessionName="short", DurationSeconds=2)
    made = short["Credentials"]
    session = Hands(site, Credentials(made["AccessKeyId"], made["SecretAccessKey"], "", made["SessionToken"]))
    assert session.attempt("get", STAGED) == "done"
    time.sleep(2.1)
    assert session.attempt("get", STAGED) == "ExpiredToken"


def test_a_session_is_refused_with_a_wrong_secret_or_token(site: Site) -> None:
    good, other = site.credentials["windows"], site.credentials["macos"]
    outcomes = {
        "good": Hands(site, good).attempt("get", STAGED),
        "wrong secret": Hands(site, replace(good, secret_access_key="x" * 40)).attempt("get", STAGED),
        "wrong token": Hands(site, replace(good, token="x" * 40)).attempt("get", STAGED),
        "no token": Hands(site, replace(good, token=None)).attempt("get", STAGED),
        "another's token": Hands(site, replace(good, token=other.token)).attempt("get", STAGED),
        "unknown key": Hands(site, replace(good, access_key_id="ASIA0000000000000000")).attempt(
            "get", STAGED
        ),
    }
    assert outcomes.pop("good") == "done"
    assert set(outcomes.values()) <= {"InvalidAccessKeyId", "InvalidToken", "SignatureDoesNotMatch"}


@pytest.mark.parametrize("field", ["secret_access_key", "token"])
def test_the_gates_store_refuses_a_forged_session(site: Site, field: str) -> None:
    good = site.credentials[RM]
    assert Hands(site, good).attempt("read_gate", "") == "done"
    outcome = Hands(site, replace(good, **{field: "x" * 40})).attempt("read_gate", "")
    assert outcome in {"InvalidSignatureException", "UnrecognizedClientException", "InvalidClientTokenId"}


def test_staging_is_no_place_that_a_viewer_can_name(site: Site) -> None:
    _, key = split(STAGED)
    for path in (
        f"/../{STAGING}/{key}",
        f"//{STAGING}/{key}",
        f"/%2e%2e/{STAGING}/{key}",
        f"/{STAGING}/{key}",
    ):
        assert view(site, site.distribution_host, path) in {http.client.NOT_FOUND, http.client.BAD_REQUEST}
