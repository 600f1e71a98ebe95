"""What the release database's answers mean: made, refused, or unknown; and what to do about it."""

from typing import NoReturn, cast

from publisher.adapters.http import Answer
from publisher.errors import ListingError, ListingUnknownError

ABSENT = 404
_DENIED = frozenset({401, 403})
_THROTTLED = 429
GET_STAFF = "let an administrator of the site make the token's user staff, or use a staff user's token"
GET_TOKEN = "get a fresh token from an administrator of the site"  # noqa: S105
GET_KEY = "get the user's present API key from an administrator of the site, and check that the user is staff"
READ_BACK = "run again: it reads what is there, and writes only what is missing"
CHECK_SITE = "check the site's address in the configuration"
_GIVE_KEY = (
    "give the user's API key, too (user:key): the site's API adds a row beside a download button only with it"
)
_BUTTON_RULE = "The fields os, release must make a unique set."
_MAX_DETAIL = 500


def judge_write(answer: Answer, expect: int, what: str, *, denied: str = "") -> None:
    """Take a write's answer for what it says: made, refused, or unknown."""
    if answer.status == expect:
        return
    if answer.status >= 500 or 200 <= answer.status < 300:
        raise ListingUnknownError(
            f"{what}: {describe(answer)}; it may have been done all the same", READ_BACK
        )
    fail(what, answer, denied=denied)


def fail(what: str, answer: Answer, *, denied: str = "") -> NoReturn:
    """Raise for an answer that says that nothing was done; `denied` is the cure if access is refused."""
    cure = denied if denied and answer.status in _DENIED else _find_cure(answer)
    raise ListingError(f"{what}: {describe(answer)}", cure)


def describe(answer: Answer) -> str:
    """Say the status and, where it is JSON, what the answer says."""
    status = f"status {answer.status}"
    if _is_redirect(answer):
        return f"{status}, which leads to {answer.headers.get('location', 'nowhere')[:_MAX_DETAIL]}"
    if answer.status == _THROTTLED:
        return f"{status}, too many requests"
    found = answer.read_json()
    if not isinstance(found, dict):
        kind = answer.headers.get("content-type", "nothing")
        return f"{status} with {len(answer.body)} bytes of {kind[:80]}"
    parts = [f"{name}: {_join(text)}" for name, text in cast("dict[str, object]", found).items()]
    return f"{status}, {'; '.join(parts)}"[:_MAX_DETAIL]


def _find_cure(answer: Answer) -> str:
    if answer.status in _DENIED:
        return _cure_denial(describe(answer))
    if answer.status == _THROTTLED:
        wait = answer.read_wait()
        return f"run again in {wait:.0f} seconds" if wait is not None else "run again later"
    if _is_redirect(answer) or (answer.status == ABSENT and answer.read_json() is None):
        return CHECK_SITE
    if answer.status >= 500 or answer.status == ABSENT:
        return READ_BACK
    return _GIVE_KEY if _BUTTON_RULE in describe(answer) else "correct what is named, and run again"


def _is_redirect(answer: Answer) -> bool:
    return 300 <= answer.status < 400


def _cure_denial(text: str) -> str:
    if "inactive" in text:
        return f"the token's user is switched off: {GET_TOKEN}"
    return GET_STAFF if "permission" in text else GET_TOKEN


def _join(text: object) -> str:
    return " ".join(map(str, cast("list[object]", text))) if isinstance(text, list) else str(text)
