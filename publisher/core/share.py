"""A share: on whose word, until when and why somebody outside may download one staged file."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from publisher.core.digests import Digest

SCHEMA: Final = 1
MAX_HOURS = 168
"""A signature of S3 holds for a week at most."""


@dataclass(frozen=True, slots=True)
class Share:
    """`_state/shares/<id>.json`: everything about a link but the link itself.

    `session_until` is when the session that signed it ends, which is the end of the link if it comes first;
    `session` tells that there is one, for not every session tells when it ends.
    """

    schema: Literal[1]
    id: str
    release: str
    role: str
    key: str
    version_id: str
    digest: Digest
    size: int
    who: str
    reason: str
    when: datetime
    until: datetime
    session: bool
    session_until: datetime | None

    @property
    def end(self) -> datetime:
        """Give the time after which the link is dead, as far as it can be known."""
        return self.until if self.session_until is None else min(self.until, self.session_until)
