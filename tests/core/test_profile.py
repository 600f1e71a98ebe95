"""The rules of a project, built by hand: how releases are taken apart and what is expected of them."""

import re
from dataclasses import replace
from datetime import date

import pytest

from publisher.core.identity import Identity
from publisher.core.profile import (
    RM,
    ArtifactRule,
    Delivery,
    Duty,
    Kind,
    Need,
    Profile,
    PublicRecord,
    RecordRule,
    Role,
    Row,
    RowRule,
    Series,
    SidecarRule,
    Signal,
    SignalRule,
    placeholders,
)
from publisher.core.signing import SIGSTORE, Accepted, Format

GZIP = Delivery("application/gzip", "immutable", "public, max-age=31536000, immutable")
TODAY = date(2030, 6, 15)
ALL_KINDS = frozenset({"beta", "security", "final"})
ISSUER = "https://accounts.example.org"
RM_OF_1_2 = Identity("rm@example.org", ISSUER)
STAND_IN = Identity("stand-in@example.org", ISSUER)
PROMOTER = Identity("promoter@example.org", ISSUER)
ACCEPTED = Accepted(
    series={"1.2": (RM_OF_1_2,)}, releases={"1.2.7": (STAND_IN,)}, records=(PROMOTER, RM_OF_1_2)
)


def an_artifact(key: str = "{release}/tool-{release}.tgz", need: Need = Need.REQUIRED) -> ArtifactRule:
    return ArtifactRule(
        key=key,
        each={},
        role="source",
        needs={"beta": need, "final": need},
        series=None,
        delivery=GZIP,
        sign=frozenset(),
        sidecars=(),
        row=None,
    )


def a_sidecar(suffix: str = ".sbom", need: Need = Need.REQUIRED) -> SidecarRule:
    return SidecarRule(suffix, by_rm=False, need=need, series=None, delivery=GZIP)


def a_profile(*artifacts: ArtifactRule) -> Profile:
    return Profile(
        name="Tool",
        digest="00",
        version=re.compile(r"(?P<base>(?P<series>\d+\.\d+)\.\d+)(?P<pre>(?P<stage>b|rc)\d+)?"),
        base_url="https://downloads.example.org/tool/",
        key_prefix="tool/",
        kinds=(
            Kind("beta", {"stage": frozenset({"b"})}),
            Kind("security", {"status": frozenset({"security"}), "stage": frozenset({""})}),
            Kind("final", {"stage": frozenset({""})}),
        ),
        series={
            "1.0": Series("1.0", "end-of-life"),
            "1.1": Series("1.1", "security", date(2030, 1, 1), date(2030, 12, 31)),
            "1.2": Series("1.2", "bugfix"),
        },
        roles={
            "source": Role("source", "someone", Duty.DELIVERS, ()),
            "qa": Role("qa", "someone else", Duty.TESTS, ("source",)),
        },
        artifacts=artifacts,
        slug=("{base}", "{pre}", "{row}"),
        commit_required=False,
    )


@pytest.mark.parametrize(
    ("name", "kind", "pre"),
    [("1.2.0b3", "beta", "b3"), ("1.2.0", "final", ""), ("1.1.7", "security", ""), ("1.1.7b1", "beta", "b1")],
)
def test_the_first_kind_whose_conditions_all_hold_is_the_kind(name: str, kind: str, pre: str) -> None:
    release = a_profile().parse_release(name)

    assert release is not None
    assert (release.name, release.kind, release.groups["pre"]) == (name, kind, pre)


@pytest.mark.parametrize("name", ["", "1.2", "1.2.0-b3", "v1.2.0", "1.2.0b3 ", "1.2.0b3\n", "../1.2.0"])
def test_a_name_that_is_no_version_is_no_release(name: str) -> None:
    assert a_profile().parse_release(name) is None


def test_a_version_of_no_kind_is_no_release() -> None:
    assert a_profile().parse_release("1.2.0rc1") is None


def test_a_series_the_profile_does_not_know_has_no_status() -> None:
    release = a_profile().parse_release("9.9.0")

    assert release is not None
    assert (release.series, release.kind) == ("9.9", "final")


def test_a_project_without_series_has_releases_without_series() -> None:
    profile = replace(a_profile(an_artifact()), series={}, kinds=(Kind("final", {}),))
    release = profile.parse_release("9.9.0")

    assert release is not None
    assert release.series is None
    assert profile.refuse_series(release, TODAY) == ()
    assert list(profile.expect(release)) == ["9.9.0/tool-9.9.0.tgz"]


@pytest.mark.parametrize(("name", "refused"), [("9.9.0", True), ("1.2.0", False)])
def test_a_release_of_an_unknown_series_is_refused(name: str, *, refused: bool) -> None:
    profile = a_profile()
    release = profile.parse_release(name)

    assert release is not None
    refusals = profile.refuse_series(release, TODAY)
    assert [(r.rule, r.subject, r.found, r.expected) for r in refusals] == (
        [("series", name, "series 9.9", "one of 1.0, 1.1, 1.2")] if refused else []
    )


@pytest.mark.parametrize(("name", "refused"), [("1.0.9", True), ("1.1.9", False)])
def test_a_release_of_a_series_at_its_end_of_life_is_refused(name: str, *, refused: bool) -> None:
    profile = a_profile()
    release = profile.parse_release(name)

    assert release is not None
    refusals = profile.refuse_series(release, TODAY)
    assert [(r.rule, r.found) for r in refusals] == (
        [("series", "series 1.0, which is end-of-life")] if refused else []
    )


@pytest.mark.parametrize(
    ("today", "refused"),
    [
        (date(2029, 12, 31), True),
        (date(2030, 1, 1), False),
        (date(2030, 12, 31), False),
        (date(2031, 1, 1), True),
    ],
)
def test_a_status_that_does_not_hold_today_is_refused(today: date, *, refused: bool) -> None:
    profile = a_profile()
    release = profile.parse_release("1.1.9")

    assert release is not None
    refusals = profile.refuse_series(release, today)
    assert [r.found for r in refusals] == (
        [f"series 1.1 as 'security' from 2030-01-01 to 2030-12-31; today is {today}"] if refused else []
    )


@pytest.mark.parametrize(
    ("series", "held"),
    [
        (Series("1.1", "security", since=date(2030, 7, 1)), "from 2030-07-01 to now"),
        (Series("1.1", "security", until=date(2030, 6, 1)), "from the start to 2030-06-01"),
    ],
)
def test_a_status_may_be_bounded_on_one_side(series: Series, held: str) -> None:
    profile = replace(a_profile(), series={"1.1": series})
    release = profile.parse_release("1.1.9")

    assert release is not None
    (refusal,) = profile.refuse_series(release, TODAY)
    assert held in refusal.found
    assert refusal.cure == "bring [series.'1.1'] of the profile up to date"


def expect_all(profile: Profile, name: str) -> dict[str, Need]:
    release = profile.parse_release(name)
    assert release is not None
    return {key: item.need for key, item in profile.expect(release).items()}


def test_an_artifact_is_forbidden_for_the_kinds_it_does_not_name() -> None:
    profile = a_profile(replace(an_artifact(), needs={"beta": Need.REQUIRED}, sidecars=(a_sidecar(),)))

    assert expect_all(profile, "1.2.0b1") == {
        "1.2.0b1/tool-1.2.0b1.tgz": Need.REQUIRED,
        "1.2.0b1/tool-1.2.0b1.tgz.sbom": Need.REQUIRED,
    }
    assert expect_all(profile, "1.2.0") == {
        "1.2.0/tool-1.2.0.tgz": Need.FORBIDDEN,
        "1.2.0/tool-1.2.0.tgz.sbom": Need.FORBIDDEN,
    }


def test_a_sidecar_has_a_need_of_its_own() -> None:
    sidecars = (a_sidecar(".a"), a_sidecar(".b", Need.OPTIONAL))
    profile = a_profile(replace(an_artifact(need=Need.OPTIONAL), sidecars=sidecars))

    assert list(expect_all(profile, "1.2.0").values()) == [Need.OPTIONAL, Need.REQUIRED, Need.OPTIONAL]


def test_an_artifact_outside_its_series_is_unknown() -> None:
    profile = a_profile(replace(an_artifact(), series=frozenset({"1.1"})))

    assert expect_all(profile, "1.1.0b1")
    assert not expect_all(profile, "1.2.0b1")


def test_a_sidecar_outside_its_series_is_unknown() -> None:
    sidecar = replace(a_sidecar(), series=frozenset({"1.1"}))
    profile = a_profile(replace(an_artifact(), sidecars=(sidecar,)))

    assert "1.1.0b1/tool-1.1.0b1.tgz.sbom" in expect_all(profile, "1.1.0b1")
    assert list(expect_all(profile, "1.2.0b1")) == ["1.2.0b1/tool-1.2.0b1.tgz"]


def test_each_makes_an_artifact_of_every_combination() -> None:
    each = {"os": ("a", "b"), "arch": ("x", "y")}
    profile = a_profile(replace(an_artifact("{base}/{os}{pre}/{arch}.zip"), each=each))

    assert list(expect_all(profile, "1.2.0b1")) == [
        "1.2.0/ab1/x.zip",
        "1.2.0/ab1/y.zip",
        "1.2.0/bb1/x.zip",
        "1.2.0/bb1/y.zip",
    ]


def test_a_sidecar_names_its_artifact_and_who_delivers_it() -> None:
    sidecars = (a_sidecar(".sbom"), replace(a_sidecar(".sig"), by_rm=True))
    profile = a_profile(replace(an_artifact(), sidecars=sidecars, sign=ALL_KINDS))
    release = profile.parse_release("1.2.0")

    assert release is not None
    artifact, sbom, signature = profile.expect(release).values()
    assert (artifact.role, artifact.artifact, artifact.sign) == ("source", None, True)
    assert (sbom.role, sbom.artifact, sbom.sign) == ("source", artifact.key, False)
    assert (signature.role, signature.artifact, signature.sign) == (RM, artifact.key, False)
    assert (artifact.delivery, artifact.row, sbom.row) == (GZIP, None, None)


@pytest.mark.parametrize(
    ("kind", "builder"),
    [
        (Format.FILE, None),
        (Format.SBOM, None),
        (Format.OPENPGP, None),
        (Format.BUNDLE, "source"),
        (Format.SIGNATURE, "source"),
        (Format.CERTIFICATE, "source"),
    ],
)
def test_what_a_sigstore_signature_is_made_of_may_come_from_the_builder_too(
    kind: Format, builder: str | None
) -> None:
    rule = replace(a_sidecar(), by_rm=True, format=kind)
    profile = a_profile(replace(an_artifact(), sidecars=(rule,), sign=ALL_KINDS))
    release = profile.parse_release("1.2.0")

    assert release is not None
    artifact, sidecar = profile.expect(release).values()
    assert (sidecar.format, sidecar.role, sidecar.builder) == (kind, RM, builder)
    assert (sidecar.is_from(RM), sidecar.is_from("source")) == (True, builder is not None)
    assert not sidecar.is_from("qa")
    assert (artifact.format, artifact.builder, artifact.is_from(RM)) == (Format.FILE, None, False)


@pytest.mark.parametrize(("name", "signed"), [("1.2.0", True), ("1.2.0b1", False), ("1.1.7", False)])
def test_an_artifact_is_signed_in_the_kinds_of_release_that_it_names(name: str, signed: bool) -> None:
    kinds = (Format.FILE, Format.SBOM, Format.OPENPGP, *SIGSTORE)
    rules = tuple(replace(a_sidecar(f".{kind}"), by_rm=True, format=kind) for kind in kinds)
    needs = dict.fromkeys(ALL_KINDS, Need.REQUIRED)
    rule = replace(an_artifact(), needs=needs, sidecars=rules, sign=frozenset({"final"}))
    profile = a_profile(rule)
    release = profile.parse_release(name)

    assert release is not None
    artifact, *sidecars = profile.expect(release).values()
    assert artifact.sign is signed
    assert [item.format for item in sidecars] == list(kinds if signed else kinds[:3])


@pytest.mark.parametrize(
    ("name", "signers", "recorders"),
    [
        ("1.2.0", (RM_OF_1_2,), (RM_OF_1_2, PROMOTER)),
        ("1.2.7", (STAND_IN,), (STAND_IN, PROMOTER, RM_OF_1_2)),
        ("1.1.0", (), (PROMOTER, RM_OF_1_2)),
    ],
    ids=["by its series", "a stand-in", "nobody"],
)
def test_records_are_signed_by_who_may_sign_the_release_or_all_records(
    name: str, signers: tuple[Identity, ...], recorders: tuple[Identity, ...]
) -> None:
    profile = replace(a_profile(), accepted=ACCEPTED)
    release = profile.parse_release(name)

    assert release is not None
    assert profile.find_identities(release) == signers
    assert profile.find_recorders(release) == recorders


def test_a_record_becomes_public_where_the_profile_says_under_its_number() -> None:
    rule = RecordRule("tool/{base}/{release}-record-{number}.json", GZIP)
    release = a_profile().parse_release("1.2.0b3")

    assert release is not None
    assert a_profile().place_record(release, 1) is None
    for number in (1, 12):
        assert replace(a_profile(), record=rule).place_record(release, number) == PublicRecord(
            f"tool/1.2.0/1.2.0b3-record-{number}.json", GZIP
        )


@pytest.mark.parametrize(
    ("name", "signals"),
    [
        ("1.2.0b3", (Signal("tag", "https://git.example.org/v1.2.0b3"),)),
        (
            "1.2.0",
            (
                Signal("tag", "https://git.example.org/v1.2.0"),
                Signal("docs", "https://docs.example.org/1.2/1.2.0/"),
            ),
        ),
        (
            "1.1.7",
            (
                Signal("tag", "https://git.example.org/v1.1.7"),
                Signal("docs", "https://docs.example.org/1.1/1.1.7/"),
            ),
        ),
    ],
    ids=["of all kinds alone", "of its kind too", "of another kind too"],
)
def test_signals_are_those_of_all_kinds_and_of_the_releases_own(
    name: str, signals: tuple[Signal, ...]
) -> None:
    rules = (
        SignalRule("tag", "https://git.example.org/v{release}", None),
        SignalRule("docs", "https://docs.example.org/{series}/{base}/", frozenset({"final", "security"})),
        SignalRule("nobody's", "https://nobody.example.org/", frozenset()),
    )
    release = a_profile().parse_release(name)

    assert release is not None
    assert replace(a_profile(), signals=rules).list_signals(release) == signals
    assert a_profile().list_signals(release) == ()


@pytest.mark.parametrize(
    ("name", "slug"),
    [("1.2.0b1", "1-2-0-b1-Tool-for-x-64-bit"), ("1.2.0", "1-2-0-Tool-for-x-64-bit")],
)
def test_a_row_is_made_from_groups_and_each_values_without_empty_parts(name: str, slug: str) -> None:
    row = RowRule("Tool for {arch} (64-bit)", "linux", "since {series}", button=True)
    profile = a_profile(replace(an_artifact("{release}/{arch}.zip"), each={"arch": ("x",)}, row=row))
    release = profile.parse_release(name)

    assert release is not None
    (expected,) = profile.expect(release).values()
    assert expected.row == Row("Tool for x (64-bit)", slug, "linux", "since 1.2", button=True)


def test_the_row_part_of_a_slug_has_at_most_40_characters() -> None:
    row = RowRule("A name of far more than the forty characters (allowed)", "linux", "", button=False)
    profile = replace(a_profile(replace(an_artifact(), row=row)), slug=("{row}",))
    release = profile.parse_release("1.2.0")

    assert release is not None
    (expected,) = profile.expect(release).values()
    assert expected.row is not None
    assert expected.row.slug == "A-name-of-far-more-than-the-forty-charac"


def test_the_url_of_a_key_is_the_base_url_without_the_key_prefix() -> None:
    assert a_profile().url("tool/1.2.0/x.zip") == "https://downloads.example.org/tool/1.2.0/x.zip"


def test_roles_that_only_test_deliver_nothing() -> None:
    assert a_profile().deliverers() == ("source",)


@pytest.mark.parametrize(
    ("template", "names"),
    [("plain", ()), ("{a}-{b}{a}", ("a", "b", "a")), ("{{literal}}", ())],
)
def test_placeholders_are_listed_in_order(template: str, names: tuple[str, ...]) -> None:
    assert placeholders(template) == names


@pytest.mark.parametrize("template", ["{", "}", "{}", "{0}", "{a.b}", "{a[0]}", "{a!r}", "{a:>3}"])
def test_a_placeholder_that_is_more_than_a_name_is_an_error(template: str) -> None:
    with pytest.raises(ValueError, match=r"brace|format string|encountered|expected"):
        placeholders(template)
