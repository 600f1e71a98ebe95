"""Gathering: what a snapshot contains, what it costs, and in which order it is read."""

from publisher.core.digests import of_bytes
from publisher.core.identity import Identity
from publisher.core.plan import Look
from publisher.core.snapshot import Snapshot
from publisher.outcomes import Promoted, Refused
from publisher.workflow.gather import find_moved, gather
from publisher.workflow.releases import parse_releases
from tests.support.sigstore_fake import RM, FakeSigner
from tests.support.site import COMMIT, PKG, PROFILE, RELEASE, TGZ, Site


def a_ready_site() -> Site:
    site = Site()
    site.open()
    site.stage_all()
    return site


def look_at(site: Site, *names: str) -> Snapshot:
    world = site.world()
    return gather(world, parse_releases(world.profile, names or (RELEASE,)))


def requests_of(site: Site) -> list[tuple[str, str]]:
    seen: list[tuple[str, str]] = []
    site.s3.before = lambda request, key: seen.append((request, key))
    look_at(site)
    site.s3.before = lambda request, key: None
    return seen


def test_a_snapshot_has_state_files_hand_overs_holds_and_sidecars() -> None:
    site = a_ready_site()
    site.s3.staging.store(f"_hold/qa/{RELEASE}", b"wait")
    site.s3.staging.store(f"_rm/{RELEASE}/{TGZ}.sig", b"sig")

    (release,) = look_at(site).releases

    assert release.state is not None
    assert release.state.commit == COMMIT
    state = site.s3.staging.current(f"_state/releases/{RELEASE}.json")
    assert state is not None
    assert release.state_version == state.version_id
    linux = release.roles["linux"]
    assert set(linux.objects) == {TGZ}
    assert linux.objects[TGZ].digest == of_bytes(b"first " + TGZ.encode())
    assert linux.sums is not None
    assert linux.commit is not None
    hold = release.roles["qa"].hold
    assert hold is not None
    assert hold.data == b"wait"
    assert set(release.rm) == {f"{TGZ}.sig"}


def test_an_empty_world_is_a_snapshot_too() -> None:
    snapshot = look_at(Site())

    (release,) = snapshot.releases
    assert (release.state, release.state_version, release.numbers) == (None, None, ())
    assert all(not staging.objects and staging.sums is None for staging in release.roles.values())
    assert (snapshot.public, snapshot.public_names, snapshot.unfinished) == ({}, frozenset(), ())
    assert not snapshot.gate_lost


def test_gathering_writes_nothing() -> None:
    site = a_ready_site()
    site.s3.writes.clear()

    look_at(site)

    assert site.s3.writes == []


def test_a_signature_of_the_hand_over_is_no_artifact() -> None:
    site = a_ready_site()
    site.stage("linux", {"SHA256SUMS.asc": b"sig", "SHA256SUMS-old": b""})

    assert set(look_at(site).releases[0].roles["linux"].objects) == {TGZ, "SHA256SUMS-old"}


def test_the_files_of_a_release_whose_name_begins_alike_are_not_its_own() -> None:
    site = a_ready_site()
    site.stage_all(release=f"{RELEASE}b1")

    assert set(look_at(site).releases[0].roles["linux"].objects) == {TGZ}


def test_files_are_streamed_only_where_the_store_has_no_digest() -> None:
    site = a_ready_site()
    assert [key for request, key in requests_of(site) if request == "stream"] == []
    key = f"linux/{RELEASE}/{TGZ}"
    site.s3.staging.store(key, b"large", whole=False)

    assert [key for request, key in requests_of(site) if request == "stream"] == [key]
    stored = look_at(site).releases[0].roles["linux"].objects[TGZ]
    assert stored.streamed
    assert stored.digest == of_bytes(b"large")


def test_the_hand_over_is_read_before_the_files() -> None:
    site = a_ready_site()
    for role in ("linux", "mac"):
        prefix = f"{role}/{RELEASE}/"
        seen = [entry for entry in requests_of(site) if entry[1].startswith(prefix)]
        assert seen[:3] == [("read", f"{prefix}SHA256SUMS"), ("read", f"{prefix}COMMIT"), ("list", prefix)]


def test_a_file_that_vanishes_between_listing_and_looking_is_left_out() -> None:
    site = a_ready_site()

    def remove(request: str, key: str) -> None:
        if request == "describe" and key.endswith(TGZ):
            site.s3.staging.store(key, None)

    site.s3.before = remove

    assert look_at(site).releases[0].roles["linux"].objects == {}


def test_public_files_are_found_with_their_digests_and_strangers_by_name() -> None:
    site = a_ready_site()
    folder = f"tool/{RELEASE}"
    site.s3.public.store(TGZ, b"public")
    site.s3.public.store(f"{folder}/TOOL.tgz", b"stranger")
    site.s3.public.store(f"{folder}b1/other", b"of another release")
    site.s3.public.store("tool", b"in the place of a folder")

    snapshot = look_at(site)

    assert snapshot.public == {TGZ: of_bytes(b"public")}
    assert snapshot.public_names == {TGZ, f"{folder}/TOOL.tgz", "tool"}


def test_keys_in_no_folder_are_found_too() -> None:
    flat = PROFILE.replace(b"tool/{release}/tool-", b"tool-")
    site = Site(profile_text=flat)
    site.s3.public.store(f"tool-{RELEASE}.tgz", b"public")

    assert set(look_at(site).public) == {f"tool-{RELEASE}.tgz"}


def test_numbers_and_unfinished_promotions_are_known() -> None:
    site = a_ready_site()
    site.promote()

    snapshot = look_at(site)

    assert snapshot.releases[0].numbers == (1,)
    assert snapshot.unfinished == ()
    assert set(snapshot.public) == {TGZ, PKG}


def test_a_gate_without_owner_is_lost_only_if_there_were_promotions() -> None:
    site = a_ready_site()
    assert not look_at(site).gate_lost
    site.promote()
    assert not look_at(site).gate_lost
    site.s3.gate.entries.clear()

    assert look_at(site).gate_lost


def test_several_releases_are_gathered_together() -> None:
    site = a_ready_site()

    assert [found.release.name for found in look_at(site, RELEASE, "1.3.0", RELEASE).releases] == [
        RELEASE,
        "1.3.0",
    ]


def test_what_has_moved_since_the_plan_is_named() -> None:
    site = Site()
    same = site.s3.staging.store("same", b"1")
    changed = site.s3.staging.store("changed", b"1")
    gone = site.s3.staging.store("gone", b"1")
    site.s3.staging.store("changed", b"1")
    site.s3.staging.store("gone", None)
    site.s3.staging.store("new", b"1")
    looks = [Look(stored.key, stored.version_id) for stored in (same, changed, gone)]

    moved = find_moved(site.world(), [*looks, Look("new", None), Look("never", None)])

    assert moved == ("changed", "gone", "new")


# --- Signed hand-overs -----------------------------------------------------------------------------------

CI = Identity("https://ci.example.org/build.yml@refs/heads/main", "https://token.example.org")
SIGNING_ROLE = PROFILE.replace(
    b'owner = "CI"\n',
    f'owner = "CI"\nsigners = [{{ name = "{CI.name}", issuer = "{CI.issuer}" }}]\n'.encode(),
)
SUMS = f"linux/{RELEASE}/SHA256SUMS"


def a_site_with_a_signing_role() -> Site:
    site = Site(profile_text=SIGNING_ROLE)
    site.open()
    site.stage_all()
    return site


def sign_hand_over(site: Site, signer: Identity = CI) -> None:
    found = site.s3.staging.current(SUMS)
    assert found is not None
    site.s3.staging.store(f"{SUMS}.sigstore", FakeSigner(site.sigstore, signer).sign(found.digest))


def refused(site: Site) -> list[tuple[str, str, str]]:
    outcome = site.promote()
    assert isinstance(outcome, Refused)
    return [(refusal.rule, refusal.subject, refusal.found) for refusal in outcome.refusals]


def test_a_hand_over_that_its_own_workflow_has_signed_is_promoted_and_the_signature_is_no_file() -> None:
    site = a_site_with_a_signing_role()
    sign_hand_over(site)

    assert set(look_at(site).releases[0].roles["linux"].objects) == {TGZ}
    assert isinstance(site.promote(), Promoted)
    assert set(site.public()) == {TGZ, PKG}


def test_an_upload_key_alone_cannot_hand_over_where_a_signature_is_asked_for() -> None:
    site = a_site_with_a_signing_role()

    assert refused(site) == [("signature", f"{SUMS}.sigstore", "no SHA256SUMS.sigstore")]


def test_a_hand_over_that_somebody_else_has_signed_is_refused() -> None:
    site = a_site_with_a_signing_role()
    sign_hand_over(site, RM)

    assert refused(site) == [("signature", f"{SUMS}.sigstore", f"a signature by {RM}")]


def test_the_signature_of_another_hand_over_is_refused() -> None:
    site = a_site_with_a_signing_role()
    sign_hand_over(site)
    site.stage_all(b"second")

    ((rule, subject, found),) = refused(site)

    assert (rule, subject) == ("signature", f"{SUMS}.sigstore")
    assert found.startswith("a bundle of sha256:")


def test_a_signature_of_a_hand_over_that_nobody_asks_for_is_in_nobodys_way() -> None:
    site = a_ready_site()
    site.s3.staging.store(f"{SUMS}.sigstore", b"whatever")

    assert isinstance(site.promote(), Promoted)
    assert set(site.public()) == {TGZ, PKG}
