"""A share, and when its link ends."""

from datetime import datetime, timedelta

import pytest

from publisher.core.digests import of_bytes
from publisher.core.share import Share
from tests.support.builders import NOON, RELEASE, TGZ

HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("session_until", "end"),
    [(None, NOON + 2 * HOUR), (NOON + HOUR, NOON + HOUR), (NOON + 3 * HOUR, NOON + 2 * HOUR)],
)
def test_a_link_ends_with_its_hours_or_with_the_session_that_signed_it(
    session_until: datetime | None, end: datetime
) -> None:
    share = Share(
        schema=1,
        id="1",
        release=RELEASE,
        role="source",
        key=TGZ,
        version_id="v1",
        digest=of_bytes(b""),
        size=0,
        who="an ARN",
        reason="x",
        when=NOON,
        until=NOON + 2 * HOUR,
        session=True,
        session_until=session_until,
    )

    assert share.end == end
