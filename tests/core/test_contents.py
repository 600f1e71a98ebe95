"""What a release may contain, as listing and announcing see it: nothing forbidden, and no profile."""

from publisher.core.contents import Contents, Entry, list_contents
from publisher.core.profile import Profile, Row
from publisher.core.signing import Format
from tests.support.builders import EXE, HEAD, PDF, SBOM, SIG, TGZ, a_profile, a_release

INSTALLER = Row("Installer", "1-2-0-Installer", "windows", "", button=False)
UNDER = a_profile(
    "[[artifact]]\nkey = 'tool/{release}/tool.tgz'\nrole = 'source'\n",
    HEAD.replace(
        'base_url = "https://dl.example.org/"', 'base_url = "https://x.org/d/"\nkey_prefix = "tool/"'
    ),
)


def contents(name: str = "1.2.0", profile: Profile | None = None) -> Contents:
    profile = profile or a_profile()
    return list_contents(profile, a_release(name, profile))


def keys_of(found: Contents) -> list[str]:
    return [entry.key for entry in found.entries]


def test_everything_that_a_release_may_have_is_listed_in_the_order_of_the_profile() -> None:
    assert contents().entries == (
        Entry(TGZ, None, None, Format.FILE),
        Entry(SIG, TGZ, None, Format.BUNDLE),
        Entry(PDF, None, None, Format.FILE),
        Entry(EXE, None, INSTALLER, Format.FILE),
        Entry(SBOM, EXE, None, Format.FILE),
    )


def test_what_this_kind_of_release_must_not_have_is_not_listed() -> None:
    assert keys_of(contents("1.2.0b1")) == [
        key.replace("1.2.0/", "1.2.0b1/") for key in (TGZ, SIG, EXE, SBOM)
    ]


def test_the_sidecars_of_what_is_forbidden_are_not_listed_either() -> None:
    signed = a_profile(
        "[[artifact]]\nkey = '{release}/guide.pdf'\nrole = 'source'\noptional = 'final'\nsign = true\n"
    )

    assert keys_of(contents("1.2.0", signed)) == [PDF, f"{PDF}.sig"]
    assert keys_of(contents("1.2.0b1", signed)) == []


def test_contents_name_their_project_and_release() -> None:
    found = contents("1.2.0b1")

    assert found.project == "Tool"
    assert (found.release.name, found.release.kind) == ("1.2.0b1", "beta")


def test_the_rows_are_those_of_the_artifacts_that_have_one() -> None:
    assert contents().rows == {EXE: INSTALLER}
    assert contents(profile=UNDER).rows == {}


def test_a_url_is_the_base_url_without_the_key_prefix_as_in_the_profile() -> None:
    key = "tool/1.2.0/tool.tgz"

    assert contents().url(TGZ) == "https://dl.example.org/1.2.0/tool.tgz"
    assert keys_of(contents(profile=UNDER)) == [key]
    assert contents(profile=UNDER).url(key) == "https://x.org/d/1.2.0/tool.tgz" == UNDER.url(key)


def test_a_url_is_told_from_those_of_other_sites_and_turned_back_into_its_key() -> None:
    for found, key in ((contents(), TGZ), (contents(profile=UNDER), "tool/1.2.0/tool.tgz")):
        assert found.find_key(found.url(key)) == key
        assert found.find_key("https://elsewhere.example.org/1.2.0/tool.tgz") is None
