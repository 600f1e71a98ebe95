"""That something was announced: what is kept of it, so that it is done once."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal


@dataclass(frozen=True, slots=True)
class Announced:
    """`_state/announced/<release>.json`: in which post, and by whom. `url` is None where no forum has it."""

    schema: Literal[1]
    releases: tuple[str, ...]
    external_id: str
    url: str | None
    who: str
    when: datetime
