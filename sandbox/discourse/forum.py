"""The forum behind the stand-in: its topics, and the rules that Discourse has for new ones.

After Discourse's own source (posts and topics controllers, topic model, 2026): limits are its defaults.
"""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

TITLE = (15, 255)
BODY = (20, 32000)
EXTERNAL_ID = 50
MEMORY_SECONDS = 120.0
"""For how long the same request by the same user through the API gets the same answer again."""


class BadRequestError(Exception):
    """A parameter that cannot be meant; its name."""


@dataclass(slots=True)
class Topic:
    """A topic and its first post."""

    id: int
    title: str
    raw: str
    category: int
    user: str
    external_id: str | None
    tags: tuple[str, ...]
    deleted: bool = False

    @property
    def slug(self) -> str:
        """Give its name in URLs."""
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-") or "topic"


@dataclass(slots=True)
class Forum:
    """All topics; `moderated` holds new ones back for approval."""

    categories: tuple[int, ...] = (1,)
    moderated: bool = False
    topics: list[Topic] = field(default_factory=list[Topic])
    queue: list[Mapping[str, object]] = field(default_factory=list[Mapping[str, object]])
    clock: Callable[[], float] = time.monotonic
    _memory: dict[str, tuple[float, Mapping[str, object]]] = field(
        default_factory=dict[str, tuple[float, Mapping[str, object]]]
    )

    def find(self, external_id: str) -> Topic | None:
        """Find a topic that is not deleted."""
        return next((t for t in self.topics if t.external_id == external_id and not t.deleted), None)

    def delete(self, external_id: str) -> None:
        """Delete a topic; it keeps its external id."""
        for topic in self.topics:
            topic.deleted = topic.deleted or topic.external_id == external_id

    def create(self, user: str, params: Mapping[str, object]) -> Mapping[str, object]:
        """Make a topic, or answer as before for a request that was just made."""
        signature = repr((user, sorted(params.items(), key=lambda pair: pair[0])))
        when, before = self._memory.get(signature, (0.0, None))
        if before is not None and self.clock() - when < MEMORY_SECONDS:
            return before
        answer = self._create(user, params)
        self._memory[signature] = (self.clock(), answer)
        return answer

    def forget(self) -> None:
        """Forget what was answered, as time does."""
        self._memory.clear()

    def _create(self, user: str, params: Mapping[str, object]) -> Mapping[str, object]:
        category = params.get("category")
        number = int(str(category)) if str(category).isdigit() else None
        if number not in self.categories:
            raise BadRequestError("category")
        title, raw = " ".join(str(params.get("title", "")).split()), str(params.get("raw", ""))
        if self.moderated:
            self.queue.append(params)
            return {
                "action": "enqueued",
                "success": True,
                "pending_post": {"id": len(self.queue), "raw": raw},
            }
        external_id = str(params["external_id"]) if params.get("external_id") else None
        errors = [*self._check_title(title), *_check_body(raw), *self._check_external_id(external_id)]
        if errors:
            return {"action": "create_post", "errors": errors}
        tags = params.get("tags")
        words = tuple(str(tag) for tag in tags) if isinstance(tags, list) else ()  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - JSON
        topic = Topic(len(self.topics) + 1, title, raw.strip(), number or 0, user, external_id, words)
        self.topics.append(topic)
        return {"action": "create_post", "success": True, "post": _describe(topic)}

    def _check_title(self, title: str) -> list[str]:
        if len(title) < TITLE[0]:
            return [f"Title is too short (minimum is {TITLE[0]} characters)"]
        if len(title) > TITLE[1]:
            return [f"Title is too long (maximum is {TITLE[1]} characters)"]
        if any(t.title.lower() == title.lower() and not t.deleted for t in self.topics):
            return ["Title has already been used"]
        return []

    def _check_external_id(self, external_id: str | None) -> list[str]:
        if external_id is None:
            return []
        errors: list[str] = []
        # Deleted topics count, and no case is told apart.
        if any((t.external_id or "").lower() == external_id.lower() for t in self.topics):
            errors.append("External has already been taken")
        if len(external_id) > EXTERNAL_ID:
            errors.append(f"External is too long (maximum is {EXTERNAL_ID} characters)")
        if not re.fullmatch(r"[A-Za-z0-9_-]+", external_id):
            errors.append("External is invalid")
        return errors


def _check_body(raw: str) -> list[str]:
    if len(raw.strip()) < BODY[0]:
        return [f"Body is too short (minimum is {BODY[0]} characters)"]
    if len(raw) > BODY[1]:
        return [f"Body is too long (maximum is {BODY[1]} characters)"]
    return []


def _describe(topic: Topic) -> Mapping[str, object]:
    return {
        "id": topic.id,
        "username": topic.user,
        "raw": topic.raw,
        "post_number": 1,
        "topic_id": topic.id,
        "topic_slug": topic.slug,
    }
