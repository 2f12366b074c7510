"""YAML text -> plain data, with the line of everything in it."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError

from delaylab.errors import BadInput

Location = tuple[str | int, ...]
Model = TypeVar("Model", bound=BaseModel)


class _Loader(yaml.CSafeLoader):
    """YAML 1.2's scalars: `on`, `off`, `yes`, `no` and dates are text, as users mean them."""


_Loader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern)
        for tag, pattern in resolvers
        if tag not in ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp") or first in "tTfF"
    ]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


@dataclass(frozen=True)
class Document:
    """A parsed file: its data and where each part of it stands."""

    name: str
    data: Any
    lines: dict[Location, int] = field(repr=False)
    folder: Path = Path()

    def where(self, location: Location = ()) -> str:
        """``file:line`` of a part, or of the nearest thing around it that the file has."""
        for end in range(len(location), -1, -1):
            line = self.lines.get(location[:end])
            if line is not None:
                return f"{self.name}:{line}"
        return self.name

    def refuse(self, what: str, location: Location = (), fix: str = "") -> BadInput:
        """The error to raise for what stands at a location."""
        return BadInput(what, self.where(location), fix)


def read(path: Path) -> Document:
    """Read a YAML file; BadInput if it is not there or is not YAML."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise BadInput("no such file", str(path)) from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot be read: {error}", str(path)) from None
    return parse(text, str(path), path.parent)


def parse(text: str, name: str, folder: Path = Path()) -> Document:
    """Parse YAML text; BadInput names the line that is wrong."""
    loader = _Loader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            raise BadInput("the file is empty", name)
        lines: dict[Location, int] = {}
        data = _plain(root, (), lines, loader, name)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{name}:{mark.line + 1}" if mark else name
        raise BadInput(f"not YAML: {error.problem or error.context}", place) from None
    except yaml.YAMLError as error:
        raise BadInput(f"not YAML: {error}", name) from None
    finally:
        loader.dispose()
    return Document(name, data, lines, folder)


def _plain(
    node: yaml.Node, at: Location, lines: dict[Location, int], loader: _Loader, name: str
) -> Any:
    lines[at] = node.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, (*at, i), lines, loader, name) for i, item in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode):
        mapping: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise BadInput("a key must be plain text", f"{name}:{line}")
            key = str(key_node.value)
            if key in mapping:
                raise BadInput(f"{key!r} is there twice", f"{name}:{line}", "remove one of them")
            mapping[key] = _plain(value_node, (*at, key), lines, loader, name)
            lines[(*at, key)] = line
        return mapping
    return loader.construct_object(node)


def validate(model: type[Model], document: Document, at: Location = ()) -> Model:
    """Data -> model; the first thing that is wrong becomes one BadInput with its line."""
    data = document.data
    for step in at:
        data = data[step]
    try:
        return model.model_validate(data)
    except ValidationError as error:
        problems = error.errors(include_url=False)
        # A misspelt field also makes another one "missing": the misspelling is the thing to say.
        problem = min(problems, key=lambda p: p["type"] != "extra_forbidden")
        location = tuple(step for step in problem["loc"] if not _is_tag(step))
        raise document.refuse(_sentence(problem, model), (*at, *location)) from None


def _is_tag(step: int | str) -> bool:
    """Pydantic puts the names of union members into a location; the file does not have them."""
    return isinstance(step, str) and (step.endswith("Spec") or step.startswith(("list[", "dict[")))


def _sentence(problem: Any, model: type[BaseModel]) -> str:
    field_name = next((str(s) for s in reversed(problem["loc"]) if isinstance(s, str)), "")
    message = str(problem["msg"]).removeprefix("Value error, ")
    match problem["type"]:
        case "extra_forbidden":
            return f"unknown field {field_name!r}{_nearest(field_name, problem, model)}"
        case "missing":
            return f"{field_name!r} is missing"
        case "value_error":
            return message
        case _:
            got = problem.get("input")
            return f"{field_name}: {message[0].lower()}{message[1:]}, got {got!r}"


def _nearest(name: str, problem: Any, model: type[BaseModel]) -> str:
    """`; did you mean …` from the fields of all models below this one."""

    known = sorted(_field_names(model, set()))
    close = difflib.get_close_matches(name, known, 1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _field_names(model: type[BaseModel], seen: set[type[BaseModel]]) -> set[str]:
    seen.add(model)
    names: set[str] = set()
    for key, info in model.model_fields.items():
        names.add(info.alias or key)
        for inner in _models_in(info.annotation):
            if inner not in seen:
                names |= _field_names(inner, seen)
    return names


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models_in(part)]
