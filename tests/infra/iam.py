"""A small, honest evaluator of IAM policies, for one account: deny by default, an explicit deny wins.

Written from the published evaluation rules, apart from the policies that it judges. Whatever it does not know
(an operator, an element, a variable) it refuses to judge, rather than to guess.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

Document = Mapping[str, Any]

_ELEMENTS = {
    "Sid", "Effect", "Principal", "Action", "NotAction", "Resource", "NotResource", "Condition",
}  # fmt: skip


@dataclass(frozen=True)
class Caller:
    """Who asks: an AWS principal by ARN, a service, a federated issuer, or nobody known (all None)."""

    arn: str | None = None
    service: str | None = None
    federated: str | None = None


@dataclass(frozen=True)
class Request:
    """One request, with the context keys that AWS would supply for it."""

    action: str
    resource: str
    caller: Caller = field(default_factory=Caller)
    context: Mapping[str, str] = field(default_factory=dict[str, str])


def is_allowed(request: Request, identity: Iterable[Document], resource: Document | None = None) -> bool:
    """Judge a request by the caller's own policies and the policy of what it asks for.

    Within one account either of them may allow; a deny in any of them is final.
    """
    effects = [
        statement["Effect"]
        for document in identity
        for statement in _statements(document)
        if _matches(statement, request)
    ]
    if resource is not None:
        effects += [
            statement["Effect"]
            for statement in _statements(resource)
            if _is_principal(statement["Principal"], request.caller) and _matches(statement, request)
        ]
    return "Allow" in effects and "Deny" not in effects


def _statements(document: Document) -> list[Document]:
    assert document["Version"] == "2012-10-17"
    statements = cast("list[Document]", document["Statement"])
    for statement in statements:
        assert set(statement) <= _ELEMENTS, f"unknown element in {statement}"
        assert statement["Effect"] in {"Allow", "Deny"}
    return statements


def _matches(statement: Document, request: Request) -> bool:
    return (
        _is_among(statement, "Action", request.action, re.IGNORECASE)
        and (_is_trust(statement) or _is_among(statement, "Resource", request.resource))
        and _is_met(statement.get("Condition", {}), request.context)
    )


def _is_among(statement: Document, element: str, value: str, flags: int = 0) -> bool:
    negated = f"Not{element}"
    assert (element in statement) != (negated in statement), f"one of {element}, {negated} in {statement}"
    patterns = _list(statement.get(element, statement.get(negated)))
    return any(_like(pattern, value, flags) for pattern in patterns) != (negated in statement)


def _is_trust(statement: Document) -> bool:
    # The policy of a role is about that role; it alone names no resource.
    return "Principal" in statement and str(statement["Action"]).startswith("sts:AssumeRole")


def _is_principal(principal: object, caller: Caller) -> bool:
    if principal == "*":
        return True
    names: Mapping[str, str | None] = {
        "AWS": caller.arn,
        "Service": caller.service,
        "Federated": caller.federated,
    }
    table = cast("Mapping[str, object]", principal)
    assert set(table) <= set(names), f"unknown kind of principal in {table}"
    return any(names[kind] in _list(values) for kind, values in table.items() if names[kind])


def _is_met(condition: Mapping[str, Mapping[str, object]], context: Mapping[str, str]) -> bool:
    known = {key.lower(): value for key, value in context.items()}
    return all(
        _OPERATORS[operator](known.get(key.lower()), _list(wanted))
        for operator, keys in condition.items()
        for key, wanted in keys.items()
    )


def _like(pattern: str, value: str, flags: int = 0) -> bool:
    assert "${" not in pattern, f"policy variables are not judged: {pattern}"
    translated = "".join({"*": ".*", "?": "."}.get(letter, re.escape(letter)) for letter in pattern)
    return re.fullmatch(translated, value, flags | re.DOTALL) is not None


def _like_arn(pattern: str, value: str) -> bool:
    # In an ARN a wildcard does not cross the first five colons.
    parts, values = pattern.split(":", 5), value.split(":", 5)
    return len(parts) == len(values) and all(_like(*pair) for pair in zip(parts, values, strict=True))


def _list(value: object) -> Sequence[str]:
    return [value] if isinstance(value, str) else cast("Sequence[str]", value)


def _positive(test: Callable[[str, str], bool]) -> Callable[[str | None, Sequence[str]], bool]:
    return lambda value, wanted: value is not None and any(test(each, value) for each in wanted)


def _negative(test: Callable[[str, str], bool]) -> Callable[[str | None, Sequence[str]], bool]:
    # A negated operator is met by a key that is absent.
    return lambda value, wanted: value is None or not any(test(each, value) for each in wanted)


_OPERATORS: Mapping[str, Callable[[str | None, Sequence[str]], bool]] = {
    "StringEquals": _positive(str.__eq__),
    "StringNotEquals": _negative(str.__eq__),
    "StringLike": _positive(_like),
    "StringNotLike": _negative(_like),
    "Bool": _positive(lambda wanted, value: wanted.lower() == value.lower()),
    "ArnLike": _positive(_like_arn),
    "ArnEquals": _positive(_like_arn),
    "ArnNotLike": _negative(_like_arn),
    "Null": lambda value, wanted: (value is None) == (wanted[0].lower() == "true"),
}
