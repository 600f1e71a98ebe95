"""Who may assume a role: tokens and people that are meant, beside those that nearly are."""

from typing import cast

import pytest
from iam import Caller, Request, is_allowed

from trust import Federation, make_trust_policy

ACCOUNT = "123456789012"
GITHUB = f"arn:aws:iam::{ACCOUNT}:oidc-provider/token.actions.githubusercontent.com"
SUBJECT = "repo:example/release-tools:environment:release"
EXPERT = f"arn:aws:iam::{ACCOUNT}:user/macos-expert"
AZURE = Federation(
    name="azure-devops",
    provider_arn=f"arn:aws:iam::{ACCOUNT}:oidc-provider/vstoken.dev.azure.com/0000",
    issuer="https://vstoken.dev.azure.com/0000",
    audience="api://AzureADTokenExchange",
    subjects=("sc://example/release/windows",),
)
HUB = Federation(
    "github", GITHUB, "https://token.actions.githubusercontent.com", "sts.amazonaws.com", (SUBJECT,)
)
TRUST = make_trust_policy([HUB, AZURE], [], require_mfa=False)


def admits_token(
    provider: str = GITHUB,
    host: str = "token.actions.githubusercontent.com",
    aud: str = "sts.amazonaws.com",
    sub: str = SUBJECT,
) -> bool:
    context = {f"{host}:aud": aud, f"{host}:sub": sub}
    request = Request("sts:AssumeRoleWithWebIdentity", "role", Caller(federated=provider), context)
    return is_allowed(request, [], TRUST)


def admits_person(arn: str, *, require_mfa: bool, **context: str) -> bool:
    policy = make_trust_policy([], [EXPERT], require_mfa=require_mfa)
    given = {key.replace("__", ":"): value for key, value in context.items()}
    return is_allowed(Request("sts:AssumeRole", "role", Caller(arn=arn), given), [], policy)


def test_the_exact_subject_is_admitted() -> None:
    assert admits_token()


@pytest.mark.parametrize(
    "sub",
    [
        "repo:example/release-tools:ref:refs/heads/main",
        "repo:example/release-tools:environment:release2",
        "repo:example/release-tools:pull_request",
        "repo:stranger/release-tools:environment:release",
        "repo:example/release-tools2:environment:release",
        SUBJECT.upper(),
        "*",
        "",
    ],
)
def test_another_repository_branch_or_environment_is_not(sub: str) -> None:
    assert not admits_token(sub=sub)


def test_another_audience_or_issuer_is_not() -> None:
    assert not admits_token(aud="https://github.com/example")
    assert not admits_token(provider=AZURE.provider_arn)
    assert not admits_token(provider=f"arn:aws:iam::{ACCOUNT}:oidc-provider/evil.example")


def test_the_second_issuer_has_its_own_audience_and_subjects() -> None:
    azure = {"provider": AZURE.provider_arn, "host": "vstoken.dev.azure.com/0000"}
    assert admits_token(**azure, aud="api://AzureADTokenExchange", sub="sc://example/release/windows")
    assert not admits_token(**azure, aud="sts.amazonaws.com", sub="sc://example/release/windows")
    assert not admits_token(**azure, aud="api://AzureADTokenExchange", sub=SUBJECT)


def test_a_named_person_is_admitted_and_no_other() -> None:
    assert admits_person(EXPERT, require_mfa=False)
    assert not admits_person(f"arn:aws:iam::{ACCOUNT}:user/other", require_mfa=False)
    assert not admits_person(f"arn:aws:iam::{ACCOUNT}:root", require_mfa=False)


def test_a_second_factor_is_asked_for_where_it_is_required() -> None:
    assert admits_person(EXPERT, require_mfa=True, aws__MultiFactorAuthPresent="true")
    assert not admits_person(EXPERT, require_mfa=True, aws__MultiFactorAuthPresent="false")
    # Long-lived keys do not send the key at all.
    assert not admits_person(EXPERT, require_mfa=True)


def test_a_person_does_not_come_in_with_a_token_nor_a_token_as_a_person() -> None:
    assert not is_allowed(Request("sts:AssumeRole", "role", Caller(federated=GITHUB)), [], TRUST)
    policy = make_trust_policy([], [EXPERT], require_mfa=False)
    assert not is_allowed(Request("sts:AssumeRoleWithWebIdentity", "role", Caller(arn=EXPERT)), [], policy)


def test_a_trust_in_nobody_is_an_error() -> None:
    with pytest.raises(ValueError, match="nobody"):
        make_trust_policy([], [], require_mfa=True)


def test_statement_ids_are_letters_and_digits() -> None:
    policy = make_trust_policy([HUB, AZURE], [EXPERT], require_mfa=False)
    statements = cast("list[dict[str, str]]", policy["Statement"])
    assert [statement["Sid"] for statement in statements] == [
        "TrustIssuerGithub",
        "TrustIssuerAzureDevops",
        "TrustPeople",
    ]
