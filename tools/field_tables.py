"""Tables of a model's fields, in words: what the generated pages have in common."""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import copy
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from delaylab.spec.conditions.engine import Conditions
from delaylab.spec.kinds import FACTS, FIELDS_OF_KINDS, NodeSpec
from delaylab.spec.variants import Variants, all_fields, models_in
from delaylab.units import Quantity
from delaylab_study.study_file.claims import Limit

PLAIN = {
    int: "integer",
    float: "number",
    str: "text",
    bool: "true or false",
    object: "any",
    Any: "any",
    NoneType: "null",
    Limit: "limit, as `+50us`, `20%` or `1.5x`",
}

MOST_NAMES = 12
"""The most allowed values that a table lists."""


def models(*roots: type[BaseModel], without: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """Yield the models and all models in their fields, each once; `without` and its parts not."""
    waiting, seen = list(roots), {without}
    while waiting:
        model = waiting.pop(0)
        if model not in seen:
            seen.add(model)
            yield model
            own = sorted(all_fields(model), key=lambda name: name not in model.__annotations__)
            parts = [all_fields(model)[name].annotation for name in own]
            waiting[:0] = [found for part in parts for found in models_in(part)]


def fields(model: type[BaseModel]) -> Iterator[tuple[str, FieldInfo]]:
    """Yield the fields by their names in a file; those of a base that is listed itself are not."""
    inherited = {name for base in model.__bases__ for name in getattr(base, "model_fields", ())}
    hidden = inherited if model.__name__ == "LinkSpec" else set()
    for name, field in all_fields(model).items():
        if name not in hidden:
            if issubclass(model, Variants):
                yield field.alias or name, _of_family(model, name)
            else:
                yield field.alias or name, field


def _of_family(model: type[Variants], name: str) -> FieldInfo:
    """Return a family's field as one: required only if every variant has it; with its kinds."""
    whole = copy(all_fields(model)[name])
    if whole.is_required() and not all(name in each.model_fields for each in model.variants()):
        whole.default = None
    if model is NodeSpec and name == "kind":
        whole.annotation = cast(Any, Literal[tuple(FACTS)])
    if model is NodeSpec and name in FIELDS_OF_KINDS:
        kinds = ", ".join(f"`{kind}`" for kind in FACTS if kind in FIELDS_OF_KINDS[name])
        whole.description = f"{whole.description} For {kinds}."
    return whole


def type_words(annotation: Any, *, linked: bool = False) -> str:
    """Return a type in words; with `linked`, models are links and null is named."""
    origin, inner = get_origin(annotation), get_args(annotation)
    parts = [type_words(part, linked=linked) for part in inner] if origin is not Literal else []
    match origin:
        case _ if origin is Annotated:
            words = parts[0]
        case _ if origin in (Union, UnionType):
            words = _either(parts, linked=linked)
        case _ if origin is Literal:
            words = ", ".join(f"`{each}`" for each in inner) if len(inner) <= MOST_NAMES else "name"
        case _ if origin is dict:
            words = (
                "mapping" if {"any", "mapping"} & set(parts[1].split()) else f"{parts[1]}, by name"
            )
        case _ if origin is tuple and inner[-1] is not Ellipsis:
            words = f"pair of {parts[0]}"
        case _ if origin in (list, tuple):
            words = f"list of {parts[0]}"
        case _:
            words = _plain(annotation, linked=linked)
    return words


def _either(parts: list[str], *, linked: bool) -> str:
    words = [part for part in dict.fromkeys(parts) if part != "null"]
    if "number" in words and "integer" in words:
        words.remove("integer")
    return " or ".join([*words, "null"] if linked and "null" in parts else words)


def _plain(annotation: Any, *, linked: bool) -> str:
    if isinstance(annotation, type) and issubclass(annotation, Quantity):
        return f"{annotation.NAME or annotation.__name__.lower()}, as `{annotation.EXAMPLE}`"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return link_to(annotation) if linked else word(annotation)
    return PLAIN.get(annotation, "text")


def link_to(model: type[BaseModel]) -> str:
    """Return a link to the model's heading on the same page."""
    if model is Conditions:
        return "[conditions](protocol.md)"
    return f"[{word(model)}](#{word(model).replace(' ', '-')})"


def word(model: type[BaseModel]) -> str:
    """Return a model's name as words: `GilbertElliottSpec` is `gilbert elliott`."""
    name = model.__name__.removesuffix("Spec").removesuffix("Record")
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


def left_out(field: FieldInfo) -> str:
    """Return what holds if a file leaves the field out, as a user writes it."""
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, BaseModel):
        value = next(iter(value.model_dump(exclude_unset=True).values()))
    if value is None or value in ("", [], {}):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return f"`{value}`"


def row_of(*cells: str) -> str:
    """Return a row of a Markdown table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def table_of(head: tuple[str, ...], rows: list[str]) -> str:
    """Return a Markdown table of rows made by `row_of`."""
    return "\n".join([row_of(*head), "|" + "---|" * len(head), *rows]).replace("|  |", "| |")
