"""Turns pydantic's errors into lines a person can act on: file, key, what was found, what is allowed."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails


def explain(name: str, model: type[BaseModel], error: ValidationError) -> str:
    """Write one line for each problem that `model` has with the file `name`."""
    return "\n".join(f"{name}: {_explain_one(model, problem)}" for problem in error.errors())


def _explain_one(model: type[BaseModel], problem: ErrorDetails) -> str:
    where = _write_path(problem["loc"])
    if problem["type"] == "missing":
        return f"{where} is missing"
    if problem["type"] == "extra_forbidden":
        key = str(problem["loc"][-1])
        allowed = _allowed_keys(model, problem["loc"][:-1])
        close = get_close_matches(key, allowed, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        return f"{where} is not a known key, expected one of {', '.join(allowed)}{hint}"
    message = problem["msg"].removeprefix("Value error, ")
    return f"{where}: found {problem['input']!r:.80}, {message[:1].lower()}{message[1:]}"


def _write_path(path: Sequence[int | str]) -> str:
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part != "[key]":
            text += f".{part}" if text else str(part)
    return text or "the file"


def _allowed_keys(model: type[BaseModel], path: Sequence[int | str]) -> list[str]:
    for part in path:
        fields = {field.alias or name: field.annotation for name, field in model.model_fields.items()}
        if part in fields:
            model = _find_model(fields[str(part)]) or model
    return [field.alias or name for name, field in model.model_fields.items()]


def _find_model(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for inner in get_args(annotation):
        found = _find_model(inner)
        if found:
            return found
    return None
