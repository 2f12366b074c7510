"""Sentences for what is wrong with the fields of a file, of what pydantic reports."""

from __future__ import annotations

import difflib
import re
from collections.abc import Container, Iterable

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from delaylab.spec.variants import all_fields, models_in

Place = tuple[str | int, ...]
KEY = "[key]"
"""The last step of the place of a mapping's key, as pydantic gives it."""
SHOWN = 80
"""The most characters of an invalid value that its error repeats."""


def sentences(
    error: ValidationError, model: type[BaseModel], parts: Container[Place], at: Place
) -> list[tuple[Place, str]]:
    """Return what is wrong with a model's data, each with its place; one sentence for a place.

    `parts` are the places that the file has, and `at` is the model's own.
    """
    found: dict[Place, str] = {}
    for problem in _meant(error.errors(include_url=False)):
        location = (*at, *(step for step in problem["loc"] if not _is_tag(step)))
        while location not in parts and len(location) > len(at):
            location = location[:-1]
        if location not in found or problem["type"] == "missing":
            text = _sentence(problem, model)
            known = found.get(location)
            found[location] = text if known is None else f"{known}; {text}"
    return list(found.items())


def _meant(problems: Iterable[ErrorDetails]) -> list[ErrorDetails]:
    """Return the problems of the form that the user meant, where a field may have several.

    A misspelt field also leaves another one missing, which is then left out.
    """
    ordered = sorted(problems, key=lambda problem: problem["type"] != "extra_forbidden")
    chosen: dict[Place, str | int] = {}
    kept = []
    for problem in ordered:
        tags = [place for place, step in enumerate(problem["loc"]) if _is_tag(step)]
        forms = {problem["loc"][:place]: problem["loc"][place] for place in tags}
        if all(chosen.setdefault(place, form) == form for place, form in forms.items()):
            kept.append(problem)
    extra = {
        problem["loc"][:-1]: problem["loc"][-1]
        for problem in kept
        if problem["type"] == "extra_forbidden"
    }
    return [p for p in kept if p["type"] != "missing" or p["loc"][:-1] not in extra]


def _is_tag(step: int | str) -> bool:
    """Return True for a step that pydantic adds to a location for a union's member.

    The file has no such step.
    """
    return isinstance(step, str) and (step.endswith("Spec") or step.startswith(("list[", "dict[")))


def _sentence(problem: ErrorDetails, model: type[BaseModel]) -> str:
    steps = (step for step in reversed(problem["loc"]) if not _is_tag(step))
    field_name = next((step for step in steps if isinstance(step, str)), "")
    message = str(problem["msg"]).removeprefix("Value error, ")
    match problem["type"]:
        case "extra_forbidden":
            return _unknown(field_name, model)
        case "missing":
            return f"{field_name!r} is missing"
        case "value_error":
            return message
        case "model_type":
            what = field_name or "the file"
            return f"{what}: expected a mapping (`name: value`), got {_short(problem.get('input'))}"
        case "literal_error" if problem["loc"][-1] == KEY:
            return _unknown_key(problem)
        case _:
            got = problem.get("input")
            return f"{field_name}: {message[0].lower()}{message[1:]}, got {_short(got)}"


def _unknown_key(problem: ErrorDetails) -> str:
    """Return the sentence for a key of a mapping that is none of those allowed."""
    mapping, given = problem["loc"][0], str(problem["input"])
    known = re.findall("'([^']+)'", problem["ctx"]["expected"])
    close = difflib.get_close_matches(given, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}"
    return f"{mapping}: unknown name {_short(given)}; {hint}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} …"


def _unknown(name: str, model: type[BaseModel]) -> str:
    """Return the sentence for a field that is unknown, or that belongs elsewhere.

    Fields of the model and of all models below it are compared.
    """
    known = sorted(_field_names(model, set()))
    if name in known:
        return f"{name!r} is not allowed here"
    close = difflib.get_close_matches(name, known, 1)
    return f"unknown field {name!r}" + (f"; did you mean {close[0]!r}?" if close else "")


def _field_names(model: type[BaseModel], seen: set[type[BaseModel]]) -> set[str]:
    seen.add(model)
    names: set[str] = set()
    for key, info in all_fields(model).items():
        names.add(info.alias or key)
        for inner in models_in(info.annotation):
            if inner not in seen:
                names |= _field_names(inner, seen)
    return names
