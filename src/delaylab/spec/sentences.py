"""Sentences for what is wrong with the fields of a file, of what pydantic reports."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from delaylab.errors import Unexpected, did_you_mean
from delaylab.spec.base import IN_WORDS
from delaylab.spec.variants import all_fields, models_in

Place = tuple[str | int, ...]
KEY = "[key]"
"""The last step of the place of a mapping's key, as pydantic gives it."""
SHOWN = 80
"""The most characters of an invalid value that its error repeats."""
TAGS = ("list[", "dict[", "function-", "constrained-")
"""Beginnings of the tags of a union's members that are not models."""
SCALARS = ("str", "int", "float", "bool")
"""The other tags, which stand last."""
MAPPING, LIST = "a mapping (`name: value`)", "a list (`[a, b]`)"
WHOLE, NUMBER, YES_NO = "a whole number", "a number", "true or false"
EXPECTED = {
    "model_type": MAPPING,
    "dict_type": MAPPING,
    "list_type": LIST,
    "tuple_type": LIST,
    "string_type": "text",
    "string_too_long": "at most {max_length} characters",
    "string_too_short": "at least {min_length} characters",
    "int_type": WHOLE,
    "int_parsing": WHOLE,
    "int_parsing_size": WHOLE,
    "int_from_float": WHOLE,
    "float_type": NUMBER,
    "float_parsing": NUMBER,
    "finite_number": NUMBER,
    "bool_type": YES_NO,
    "bool_parsing": YES_NO,
    "literal_error": "{expected}",
    "greater_than_equal": "at least {ge}",
    "greater_than": "more than {gt}",
    "less_than_equal": "at most {le}",
    "less_than": "less than {lt}",
}
"""Sentences' ends by pydantic's type of a problem, whose context fills the braces."""


def sentences(
    error: ValidationError, model: type[BaseModel], parts: Container[Place], at: Place
) -> list[tuple[Place, str]]:
    """Return what is wrong with a model's data, each with its place; one sentence for a place.

    `parts` are the places that the file has, and `at` is the model's own.
    """
    found: dict[Place, str] = {}
    for problem in _meant(error.errors(include_url=False)):
        location = (*at, *_without_tags(problem["loc"]))
        while location not in parts and len(location) > len(at):
            location = location[:-1]
        if location not in found or problem["type"] == "missing":
            text = _sentence(problem, model, location)
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
        tags = _tags(problem["loc"])
        forms = {problem["loc"][:place]: problem["loc"][place] for place in tags}
        if all(chosen.setdefault(place, form) == form for place, form in forms.items()):
            kept.append(problem)
    extra = {
        problem["loc"][:-1]: problem["loc"][-1]
        for problem in kept
        if problem["type"] == "extra_forbidden"
    }
    return [p for p in kept if p["type"] != "missing" or p["loc"][:-1] not in extra]


def _tags(location: Place) -> list[int]:
    """Return the steps of a location that name a union's member, which the file does not have."""
    last = len(location) - 1
    return [
        place
        for place, step in enumerate(location)
        if isinstance(step, str)
        and (step.endswith("Spec") or step.startswith(TAGS) or (place == last and step in SCALARS))
    ]


def _without_tags(location: Place) -> list[str | int]:
    tags = _tags(location)
    return [step for place, step in enumerate(location) if place not in tags]


def _sentence(problem: ErrorDetails, model: type[BaseModel], location: Place) -> str:
    """Return the sentence for a problem; `location` is the nearest part that the file has."""
    steps = _without_tags(problem["loc"])
    if steps[-1:] == [KEY]:
        return _of_key(problem, _name(steps[:-2]) or "the file")
    field_name = _name(steps)
    # In a short form, such as `rate: 10` for `rate: {limit: 10}`, the file has no `limit`.
    written = _name(location)
    name = field_name if written == field_name else f"{written}.{field_name}".lstrip(".")
    got = problem.get("input")
    match problem["type"]:
        case "extra_forbidden":
            return _unknown(field_name, model)
        case "missing" if steps[-1] == field_name:
            return f"{field_name!r} is missing"
        case "value_error":
            message = reason(problem)
            # What is wrong with a mapping names its fields; what is wrong with a value does not.
            whole = isinstance(got, dict) and not isinstance(_cause(problem), Unexpected)
            named = whole or steps[-1:] != [field_name]
            return message if named or _names(message, field_name) else f"{name}: {message}"
        case _:
            return f"{name or 'the file'}: expected {_expected(problem)}"


def _of_key(problem: ErrorDetails, mapping: str) -> str:
    """Return the sentence for a key of a mapping that is not allowed."""
    match problem["type"]:
        case "literal_error":
            return _unknown_key(problem)
        case "value_error":
            return f"{mapping}: {reason(problem)}"
        case _:
            return f"{mapping}: expected {_expected(problem)}"


def reason(problem: ErrorDetails) -> str:
    """Return what a validator of the project said, else what pydantic says."""
    return str(_cause(problem) or problem["msg"])


def _cause(problem: ErrorDetails) -> object:
    """Return the error that a validator of the project raised; None for one of pydantic's."""
    return problem.get("ctx", {}).get("error")


def _name(steps: Sequence[str | int]) -> str:
    return next((step for step in reversed(steps) if isinstance(step, str)), "")


def _names(sentence: str, name: str) -> bool:
    return re.search(rf"\b{re.escape(name)}\b", sentence) is not None


def _expected(problem: ErrorDetails) -> str:
    """Return what was expected, and what is there."""
    context, got = problem.get("ctx", {}), problem.get("input")
    match problem["type"]:
        case "missing":
            return f"two, got {_short(got)}"
        case "too_long" | "too_short":
            most = problem["type"] == "too_long"
            bound = (
                f"at most {context['max_length']}" if most else f"at least {context['min_length']}"
            )
            return f"{bound} of them, got {context['actual_length']}"
        case "string_pattern_mismatch":
            return f"{IN_WORDS[context['pattern']]}, got {_short(got)}"
        case known if known in EXPECTED:
            bounds = {
                name: int(bound) if isinstance(bound, float) and bound.is_integer() else bound
                for name, bound in context.items()
            }
            return f"{EXPECTED[known].format(**bounds)}, got {_short(got)}"
        case _:
            return f"something else: {problem['msg']}, got {_short(got)}"


def _unknown_key(problem: ErrorDetails) -> str:
    """Return the sentence for a key of a mapping that is none of those allowed."""
    mapping, given = problem["loc"][0], str(problem["input"])
    known = re.findall("'([^']+)'", problem["ctx"]["expected"])
    hint = did_you_mean(given, known) or f"; known: {', '.join(known)}"
    return f"{mapping}: unknown name {_short(given)}{hint}"


def _short(value: object) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} …"


def _unknown(name: str, model: type[BaseModel]) -> str:
    """Return the sentence for a field that is unknown, or that belongs elsewhere.

    Fields of the model and of all models below it are compared.
    """
    known = sorted(_field_names(model, set()))
    if name in known:
        return f"{name!r} is not allowed here"
    return f"unknown field {name!r}{did_you_mean(name, known)}"


def _field_names(model: type[BaseModel], seen: set[type[BaseModel]]) -> set[str]:
    seen.add(model)
    names: set[str] = set()
    for key, info in all_fields(model).items():
        names.add(info.alias or key)
        for inner in models_in(info.annotation):
            if inner not in seen:
                names |= _field_names(inner, seen)
    return names
