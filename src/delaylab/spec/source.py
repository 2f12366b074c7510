"""Parser from YAML text to plain data that keeps the line of every value."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError

from delaylab.errors import BadInput
from delaylab.io.files import read_text
from delaylab.spec import limits

Location = tuple[str | int, ...]
SHOWN = 80
"""The most characters of an invalid value that its error repeats."""
Model = TypeVar("Model", bound=BaseModel)


class _Loader(yaml.CSafeLoader):
    """A loader with YAML 1.2's scalars: `on`, `off`, `yes`, `no` and dates are text."""


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
    """A parsed file: its data, and the line of each part of it."""

    name: str
    data: Any
    lines: dict[Location, int] = field(repr=False)
    folder: Path = Path()

    def where(self, location: Location = ()) -> str:
        """Return ``file:line`` of a part, or of the nearest part around it that has a line."""
        for end in range(len(location), -1, -1):
            line = self.lines.get(location[:end])
            if line is not None:
                return f"{self.name}:{line}"
        return self.name

    def refuse(self, what: str, location: Location = (), fix: str = "") -> BadInput:
        """Return the error to raise for the value at a location."""
        return BadInput(what, self.where(location), fix)


def read(path: Path, *, pipes: bool = True) -> Document:
    """Read a YAML file; raise BadInput if it is missing or not YAML.

    With `pipes` it may be a pipe: allowed for a file that the user names, not for one that a file
    names.
    """
    text = read_text(path, limits.MOST_BYTES, pipes=pipes)
    return parse(text, str(path), path.parent)


def parse(text: str, name: str, folder: Path = Path()) -> Document:
    """Parse YAML text; raise BadInput with the line of the first error."""
    try:
        limits.check(text, name)
        return _parse(text, name, folder)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{name}:{mark.line + 1}" if mark else name
        raise BadInput(f"not YAML: {error.problem or error.context}", place) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise BadInput(f"not YAML: {error.reason}", f"{name}:{line}") from None
    except yaml.YAMLError as error:
        raise BadInput(f"not YAML: {error}", name) from None
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise BadInput("not YAML: half of a character", f"{name}:{line}") from None


def _parse(text: str, name: str, folder: Path) -> Document:
    loader = _Loader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            raise BadInput("the file is empty", name)
        lines: dict[Location, int] = {}
        data = _plain(root, (), lines, loader, name)
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
        mapping: dict[str, object] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise BadInput("a key must be plain text", f"{name}:{line}")
            key = str(key_node.value)
            if len(key) > limits.MOST_KEY:
                what = f"a key has more than {limits.MOST_KEY} characters"
                raise BadInput(what, f"{name}:{line}")
            if key in mapping:
                raise BadInput(f"{key!r} is there twice", f"{name}:{line}", "remove one of them")
            mapping[key] = _plain(value_node, (*at, key), lines, loader, name)
            lines[(*at, key)] = line
        return mapping
    return _scalar(node, loader, name)


def _scalar(node: yaml.Node, loader: _Loader, name: str) -> Any:
    try:
        return loader.construct_object(node)
    # for text that looks like a number but is none, such as `0x_`
    except (ValueError, OverflowError):
        what = f"{str(node.value)[: limits.MOST_DIGITS]!r} is not a number"
        where = f"{name}:{node.start_mark.line + 1}"
        raise BadInput(what, where, "put text in quotes") from None


def validate(model: type[Model], document: Document, at: Location = ()) -> Model:
    """Return data as a model; raise BadInput, with its line, for the first error."""
    data = document.data
    for step in at:
        data = data[step]
    try:
        return model.model_validate(data)
    except ValidationError as error:
        problems = error.errors(include_url=False)
        # A misspelt field also leaves another one "missing"; the misspelling is the error to
        # report.
        problem = min(problems, key=lambda p: p["type"] != "extra_forbidden")
        location = tuple(step for step in problem["loc"] if not _is_tag(step))
        raise document.refuse(_sentence(problem, model), (*at, *location)) from None


def _is_tag(step: int | str) -> bool:
    """Return True for a step that pydantic adds to a location for a union's member.

    The file has no such step.
    """
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
        case "model_type":
            what = field_name or "the file"
            return f"{what}: expected a mapping (`name: value`), got {_short(problem.get('input'))}"
        case _:
            got = problem.get("input")
            return f"{field_name}: {message[0].lower()}{message[1:]}, got {_short(got)}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} …"


def _nearest(name: str, problem: Any, model: type[BaseModel]) -> str:
    """Return `; did you mean …` with the field name nearest to a misspelt one, or "".

    Fields of the model and of all models below it are compared.
    """

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
