"""Index pages in a real browser: on a telephone and a desk, in light and dark, every link followed."""

import struct
from pathlib import Path
from urllib.parse import unquote

import pytest
import requests

from publisher.core.pages import ROOT, make_page_keys
from tests.browser.browser import Tab
from tests.browser.conftest import Served
from tests.browser.tree import MANY, ODD, RELEASE, START

pytestmark = pytest.mark.slow

PHONE, DESK = (375, 667), (1280, 800)
FOLDERS = (ROOT, "python", RELEASE, ODD)
LINKS = "Array.from(document.querySelectorAll('a'), a => [a.href, a.textContent])"
# Perceived brightness of a `rgb(…)` colour, by WCAG 2.
LUMINANCE = """
const luminance = colour => colour.match(/[0-9.]+/g).slice(0, 3)
  .map(part => part / 255).map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
  .reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
"""
CONTRASTS = f"""(() => {{ {LUMINANCE}
  const back = luminance(getComputedStyle(document.body).backgroundColor);
  const contrast = selector => {{
    const front = luminance(getComputedStyle(document.querySelector(selector)).color);
    return (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
  }};
  return {{ back, contrasts: ['h1', 'p', 'pre', 'a'].map(contrast) }};
}})()"""


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [PHONE, DESK])
def test_a_page_fits_its_screen_and_nothing_complains(
    tab: Tab, served: Served, tmp_path: Path, folder: str, scheme: str, width: int, height: int
) -> None:
    is_phone = (width, height) == PHONE
    tab.resize(width, height, mobile=is_phone)
    tab.prefer(scheme)
    tab.open(served.find_url(folder))

    assert tab.evaluate("innerWidth") == width
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.evaluate("document.querySelectorAll('pre a').length") == len(served.tree[folder]) + 1
    assert tab.troubles == []
    picture = tmp_path / "page.png"
    tab.photograph(picture)
    size = struct.unpack(">II", picture.read_bytes()[16:24])
    assert size == ((2 * width, 2 * height) if is_phone else (width, height))


def test_on_a_phone_lines_wrap_and_on_a_desk_columns_stand_under_each_other(tab: Tab, served: Served) -> None:
    column = (
        "Array.from(document.querySelectorAll('pre span'), s => Math.round(s.getBoundingClientRect().right))"
    )
    hidden = "document.querySelector('pre').scrollWidth - document.querySelector('pre').clientWidth"
    tab.resize(*PHONE, mobile=True)
    tab.open(served.find_url(ODD))
    assert tab.evaluate(hidden) == 0
    assert tab.evaluate("document.querySelector('pre a').getBoundingClientRect().height") > 20

    tab.resize(*DESK, mobile=False)
    tab.open(served.find_url(RELEASE))
    assert tab.evaluate(hidden) == 0
    assert len(set(tab.evaluate(column))) == 1

    # Only names longer than any column do not fit, and these the list itself scrolls to.
    tab.open(served.find_url(ODD))
    assert tab.evaluate(hidden) > 0


@pytest.mark.parametrize(("scheme", "is_dark"), [("light", False), ("dark", True)])
def test_light_and_dark_follow_the_readers_choice_and_are_legible(
    tab: Tab, served: Served, scheme: str, is_dark: bool
) -> None:
    tab.prefer(scheme)
    tab.open(served.find_url(RELEASE))
    found = tab.evaluate(CONTRASTS)

    assert (found["back"] < 0.1) is is_dark
    assert (found["back"] > 0.9) is not is_dark
    # What WCAG asks of small text.
    assert min(found["contrasts"]) >= 4.5


def test_the_size_for_people_is_seen_but_is_not_in_the_text(tab: Tab, served: Served) -> None:
    tab.resize(*DESK, mobile=False)
    tab.open(served.find_url(RELEASE))

    span = """document.querySelector('a[href="Python-3.14.0a1.tar.xz"] + span')"""
    assert tab.evaluate(f"{span}.getBoundingClientRect().width") > 30
    assert tab.evaluate(f"getComputedStyle({span}, '::after').content") == '"22.7 MB"'
    lines = tab.evaluate("document.querySelector('pre').textContent").splitlines()
    line = next(line for line in lines if line.startswith("Python-3.14.0a1.tar.xz "))
    assert line.split() == ["Python-3.14.0a1.tar.xz", f"{START:%d-%b-%Y}", f"{START:%H:%M}", "22673883"]


def test_every_link_of_every_page_leads_to_what_it_names(tab: Tab, served: Served) -> None:
    followed: set[str] = set()
    with requests.Session() as session:
        for folder, entries in served.tree.items():
            tab.open(served.find_url(folder))
            (up, text), *links = tab.evaluate(LINKS)
            above = folder.rpartition("/")[0]
            assert (up, text) == (served.find_url(above), "../")
            assert [name for _, name in links] == [e.name + "/" * e.folder for e in entries]
            assert [unquote(url) for url, _ in links] == [
                unquote(served.find_url(folder)) + name for _, name in links
            ]
            # A plus would be a blank at S3.
            assert not any("+" in url for url, _ in links)
            if folder == MANY:
                links = links[::100]
            for url, name in links:
                answer = session.get(url, timeout=30)
                assert answer.status_code == 200, url
                expected = make_page_keys(f"{folder}/{name[:-1]}".lstrip("/"))[0] if name[-1] == "/" else ""
                assert answer.content == served.objects.get(expected, b"x")
                followed.add(url)
        assert session.get(f"{served.url}/python/absent", timeout=30).status_code == 404

    assert len(followed) > 700
    assert tab.troubles == []


def test_a_click_goes_down_and_up_again(tab: Tab, served: Served) -> None:
    tab.open(served.find_url("python"))
    for selector, folder in (
        ('a[href="odd/"]', ODD),
        ('a[href="folder%2B1/"]', f"{ODD}/folder+1"),
        ("a", ODD),
    ):
        tab.click(selector)

        assert tab.evaluate("location.href") == served.find_url(folder)
        assert tab.evaluate("document.querySelector('h1').textContent") == f"Index of /{folder}/"
    assert tab.troubles == []


def test_a_page_of_ten_thousand_files_is_whole(tab: Tab, served: Served) -> None:
    tab.resize(*PHONE, mobile=True)
    tab.open(served.find_url(MANY))

    assert tab.evaluate("document.querySelectorAll('pre a').length") == 10_001
    assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    assert tab.troubles == []


def test_the_browser_does_complain_where_there_is_something_to_complain_of(tab: Tab, served: Served) -> None:
    """The other tests' silence means something."""
    tab.open(served.find_url(RELEASE))
    assert tab.troubles == []
    tab.evaluate(
        "document.body.insertAdjacentHTML('beforeend', '<p style=\"color: red\">x</p><img src=\"x:y\">')"
    )
    tab.evaluate(
        "document.head.appendChild(document.createElement('script')).textContent = 'window.ran = true'"
    )

    assert tab.evaluate("window.ran === true") is False
    assert any("Content Security Policy" in trouble for trouble in tab.troubles)
