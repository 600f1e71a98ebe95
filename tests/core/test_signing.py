"""Whose signatures count, and how that is said."""

import pytest

from publisher.core.identity import Identity
from publisher.core.signing import SIGNATURES, SIGSTORE, Accepted, Format, describe

ISSUER = "https://accounts.example.org"
ANN, BOB, CLEO = (Identity(f"{name}@example.org", ISSUER) for name in ("ann", "bob", "cleo"))
BY_SERIES = Accepted(series={"1.1": (ANN,), "1.2": (ANN, BOB)}, releases={"1.2.7": (CLEO,), "1.1.5": ()})


@pytest.mark.parametrize(
    ("release", "series", "identities"),
    [
        ("1.1.0", "1.1", (ANN,)),
        ("1.2.0", "1.2", (ANN, BOB)),
        ("1.2.7", "1.2", (CLEO,)),
        ("1.2.70", "1.2", (ANN, BOB)),
        ("1.1.5", "1.1", ()),
        ("1.3.0", "1.3", ()),
    ],
    ids=[
        "a series",
        "several",
        "the exact release alone",
        "no beginning of a name",
        "an exact release with nobody",
        "an unknown series",
    ],
)
def test_the_most_exact_entry_holds_alone(
    release: str, series: str, identities: tuple[Identity, ...]
) -> None:
    assert BY_SERIES.find(release, series) == identities


def test_who_may_sign_everywhere_may_sign_what_is_of_no_series_only() -> None:
    accepted = Accepted(everywhere=(ANN,), releases={"7": (BOB,)})

    assert accepted.find("6", None) == (ANN,)
    assert accepted.find("7", None) == (BOB,)
    assert accepted.find("1.2.0", "1.2") == ()


def test_nobody_may_sign_where_nobody_is_named() -> None:
    assert Accepted().find("6", None) == ()
    assert Accepted().find("1.2.0", "1.2") == ()


@pytest.mark.parametrize(("series", "keys"), [("1.1", {"A" * 40}), ("1.2", set[str]()), (None, set[str]())])
def test_openpgp_keys_count_for_their_series_alone(series: str | None, keys: set[str]) -> None:
    assert Accepted(keys={"1.1": frozenset({"A" * 40})}).find_keys(series) == keys


def test_openpgp_keys_for_everything_count_in_a_project_without_series_alone() -> None:
    accepted = Accepted(all_keys=frozenset({"A" * 40}), keys={"1.1": frozenset({"B" * 40})})

    assert accepted.find_keys(None) == {"A" * 40}
    assert accepted.find_keys("1.1") == {"B" * 40}
    assert accepted.find_keys("1.2") == set()


def test_who_may_sign_is_said_with_the_issuer() -> None:
    assert describe((ANN,)) == "ann@example.org (https://accounts.example.org)"
    assert describe((ANN, BOB)) == f"{ANN} or {BOB}"
    assert describe(()) == "nobody: the profile names no identity"


def test_signing_makes_signatures_and_what_else_is_checked_is_none() -> None:
    assert set(SIGSTORE) < SIGNATURES
    assert SIGSTORE[0] is Format.BUNDLE
    assert set(Format) - SIGNATURES == {Format.FILE, Format.SBOM}
