"""The note of an announcement: what was said once is on record, and stays as it is."""

from dataclasses import FrozenInstanceError, replace

import pytest

from publisher.core.announced import Announced
from tests.support.builders import NOON, RELEASE

NOTE = Announced(1, (RELEASE, "1.2.1"), "tool-1.2.0", "https://forum.example.org/t/1", "an ARN", NOON)


def test_a_note_names_every_release_of_its_post_and_is_never_changed() -> None:
    assert NOTE.releases == (RELEASE, "1.2.1")
    with pytest.raises(FrozenInstanceError):
        NOTE.url = None  # pyright: ignore[reportAttributeAccessIssue] - that is the point


def test_a_note_without_a_forum_is_another_one() -> None:
    assert replace(NOTE, url=None) != NOTE
    assert replace(NOTE) == NOTE
