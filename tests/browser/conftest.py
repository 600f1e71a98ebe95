"""One browser and one served tree for all tests of a process; a tab is each test's own."""

import ast
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from publisher.core.pages import Entry
from publisher.core.urls import make_path
from tests.browser.browser import Browser, Tab, run_browser
from tests.browser.tree import make_objects, make_site, serve

CDN = Path(__file__).parents[2] / "infra/cdn.py"


@dataclass(frozen=True)
class Served:
    """A served tree: the URL of its root, every key's bytes, and what each page shows."""

    url: str
    objects: Mapping[str, bytes]
    tree: Mapping[str, tuple[Entry, ...]]

    def find_url(self, folder: str) -> str:
        return f"{self.url}/{make_path(folder)}/" if folder else f"{self.url}/"


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Generator[Browser]:
    with run_browser(tmp_path_factory.mktemp("chromium")) as running:
        yield running


@pytest.fixture(scope="session")
def served() -> Generator[Served]:
    """Serve the tree with the policy that the CDN puts on every answer."""
    objects, tree = make_site(make_objects())
    with serve(objects, {"Content-Security-Policy": read_content_policy()}) as url:
        yield Served(url, objects, tree)


@pytest.fixture
def tab(browser: Browser) -> Tab:
    return browser.open_tab()


def read_content_policy() -> str:
    """Read it from the Pulumi program's source, which cannot be imported outside of a deployment."""
    for node in ast.parse(CDN.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "CONTENT_POLICY":
            return str(ast.literal_eval(node.value))
    pytest.fail(f"no CONTENT_POLICY in {CDN.name}")
