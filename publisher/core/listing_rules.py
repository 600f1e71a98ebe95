"""What a profile says of its release database."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ListingRules:
    """What a profile says of its release database; templates are over `{release}` and version groups.

    `version` is the number of the family in which one release is the latest; `pre_kinds` are the kinds that
    are never the latest; `notes` gives the URL of the release notes by kind. `systems` are the operating
    systems by slug with their display names, of which `source` is not one to install on. Every URL begins
    with `url_prefix`.
    """

    release_name: str
    release_slug: str
    version: int
    pre_kinds: frozenset[str]
    notes: Mapping[str, str]
    systems: Mapping[str, str]
    source: str
    url_prefix: str
