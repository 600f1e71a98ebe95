"""Looking ahead: what listing and announcing would stop at is found while nothing is public."""

from dataclasses import replace

from publisher.core.contents import Contents, Entry
from publisher.core.digests import of_bytes
from publisher.core.plan import Extras, Plan
from publisher.core.signing import Format
from publisher.outcomes import Planned
from publisher.workflow.afterwards import foresee, refuse_announcement, refuse_listing
from publisher.workflow.listing import read_public
from tests.support.listing_fake import SLUG, ZIP, ListedSite, a_listed_site, a_release_row
from tests.support.site import PKG, RELEASE, TGZ, expected_public


def a_plan(site: ListedSite, prose: str | None = None) -> Plan:
    planned = site.run(dry_run=True, given_up={"listing": "not asked", "announce": "not asked"})
    assert isinstance(planned, Planned)
    assert planned.decision is not None
    return replace(planned.decision.plan, extras=Extras(prose))


def contents_of(plan: Plan) -> Contents:
    (release,) = plan.releases
    assert release.contents is not None
    return release.contents


def test_what_will_be_public_is_what_is_by_now_and_what_the_plan_adds() -> None:
    site = a_listed_site()
    site.run()
    site.stage_late()
    plan = a_plan(site)
    contents = contents_of(plan)

    found = foresee(plan, contents, read_public(site.world(), contents))

    late = b"late " + RELEASE.encode()
    assert {file.entry.key: file.digest for file in found} == {**expected_public(), ZIP: of_bytes(late)}
    assert {file.size for file in found if file.entry.key == ZIP} == {len(late)}


def test_files_of_another_release_of_the_plan_are_not_among_them() -> None:
    site = a_listed_site()
    plan = a_plan(site)
    other = Contents(
        "Tool",
        contents_of(plan).release,
        (Entry(PKG, None, None, Format.FILE),),
        "https://www.python.org/",
        "",
    )

    assert [file.entry.key for file in foresee(plan, other, ())] == [PKG]


def test_a_file_whose_store_holds_no_digest_is_streamed_for_its_row() -> None:
    site = a_listed_site()
    site.run()
    contents = contents_of_finished(site)
    found = site.s3.public.current(TGZ)
    assert found is not None
    site.s3.public.store(TGZ, found.data, found.delivery, whole=False)
    streamed: list[str] = []
    site.s3.before = lambda request, key: streamed.append(key) if request == "stream" else None

    public = read_public(site.world(), contents)

    assert streamed == [TGZ]
    assert {file.entry.key: file.digest for file in public} == expected_public()


def contents_of_finished(site: ListedSite) -> Contents:
    promotion = site.live().pop()
    return contents_of(site.world().state.read_plan(promotion))


def test_rows_that_cannot_be_are_refused_and_rows_that_can_are_not() -> None:
    bad, good = a_listed_site(row=False), a_listed_site()

    assert [refusal.subject for refusal in refuse_listing(bad.world(), a_plan(bad))] == [SLUG]
    assert refuse_listing(good.world(), a_plan(good)) == ()
    assert bad.database.writes == good.database.writes == []


def test_every_release_of_the_plan_is_looked_at() -> None:
    site = a_listed_site(row=False)
    site.open("1.2.4")
    site.stage_all(release="1.2.4")

    outcome = site.run(RELEASE, "1.2.4")

    assert [refusal.subject for refusal in getattr(outcome, "refusals", ())] == [SLUG, "tool-124"]
    for name, slug in ((RELEASE, SLUG), ("1.2.4", "tool-124")):
        site.database.add(a_release_row(f"Tool {name}", slug))
    assert getattr(site.run(RELEASE, "1.2.4"), "refusals", ()) == ()


def test_a_site_that_lists_nowhere_or_a_project_without_rules_is_not_asked_for_rows() -> None:
    site = a_listed_site(row=False)
    plan = a_plan(site)
    ruleless = replace(plan, releases=tuple(replace(release, listing=None) for release in plan.releases))

    assert refuse_listing(replace(site.world(), database=None), plan) == ()
    assert refuse_listing(site.world(), ruleless) == ()


def test_prose_is_read_against_what_will_be_public() -> None:
    site = a_listed_site()
    good, bad = "{{ digest tool-1.2.3.pkg }}", "{{ digest tool-1.2.3.zip }}"

    assert refuse_announcement(site.world(), a_plan(site, good)) == ()
    (refusal,) = refuse_announcement(site.world(), a_plan(site, bad))
    assert (refusal.rule, refusal.subject) == ("prose", "line 1")


def test_prose_for_a_later_promotion_is_of_no_interest() -> None:
    site = a_listed_site()
    site.run()
    site.stage_late()
    site.requests.clear()

    assert refuse_announcement(site.world(), a_plan(site, "{{ nonsense }}")) == ()
    assert site.count("forum-find") == 0


def test_looking_ahead_posts_and_sends_nothing() -> None:
    site = a_listed_site()

    assert refuse_announcement(site.world(), a_plan(site)) == ()

    assert site.count("forum-find") == 1
    assert site.forum.posts == 0
    assert site.hook.events == []
