"""Parser from YAML text to plain data that keeps the line of every value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from delaylab.errors import BadInput
from delaylab.io.files import read_text
from delaylab.spec import limits
from delaylab.spec.foreign import refuse_markup
from delaylab.spec.sentences import sentences

Location = tuple[str | int, ...]
Model = TypeVar("Model", bound=BaseModel)
OLD_OCTAL = re.compile(r"0[0-9]+")


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
    elsewhere: dict[Location, str] = field(default_factory=dict, repr=False)
    """Parts that another file gave, as a study's level does, each with its ``file:line``."""

    def where(self, location: Location = ()) -> str:
        """Return ``file:line`` of a part, or of the nearest part around it that has a line.

        Of data that are no text it is the part's path, as in ``the given data, nodes.a``.

        If parts were given elsewhere, it is theirs, or that of the first of them below the part:
        the file itself was valid before.
        """
        if self.elsewhere:
            return self._elsewhere(location)
        for end in range(len(location), -1, -1):
            line = self.lines.get(location[:end])
            if line is not None:
                path = ".".join(map(str, location[:end]))
                return f"{self.name}:{line}" if line else f"{self.name}, {path}"
        return self.name

    def _elsewhere(self, location: Location) -> str:
        for end in range(len(location), -1, -1):
            part = location[:end]
            given = (at for other, at in self.elsewhere.items() if other[:end] == part)
            found = self.elsewhere.get(part) or next(given, None)
            if found is not None:
                return found
        return self.name

    def refuse(self, what: str, location: Location = (), fix: str = "") -> BadInput:
        """Return the error to raise for the value at a location."""
        return BadInput(what, self.where(location), fix)


class Problems:
    """The errors of a file, collected so that the user sees all of them."""

    def __init__(self) -> None:
        self.errors: list[BadInput] = []

    def gather(self, check: Callable[[], None]) -> None:
        """Run a check; keep its error."""
        try:
            check()
        except BadInput as error:
            self.errors.append(error)

    def together(self) -> BadInput:
        """Return the first error in the order of the file, with the others as its `more`."""
        first, *others = sorted(self.errors, key=_line)
        first.more = tuple(others)
        return first

    def report(self) -> None:
        """Raise the errors, if there are any."""
        if self.errors:
            raise self.together()


def _line(error: BadInput) -> int:
    line = error.where.rpartition(":")[2]
    return int(line) if line.isdecimal() else 0


def read(path: Path, *, pipes: bool = True) -> Document:
    """Read a YAML file; raise BadInput if it is missing or not YAML.

    With `pipes` it may be a pipe: allowed for a file that the user names, not for one that a file
    names.
    """
    text = read_text(path, limits.MOST_BYTES, pipes=pipes)
    return parse(text, str(path), path.parent)


def of_data(name: str, data: object) -> Document:
    """Return data that are no text as a document; its parts have paths in place of lines."""
    return Document(name, data, dict.fromkeys(_paths(data, ()), 0))


def _paths(data: object, at: Location) -> Iterator[Location]:
    """Yield the places of all parts of data, but not that of the whole."""
    parts: Iterable[tuple[str | int, object]] = ()
    if isinstance(data, Mapping):
        parts = data.items()
    elif isinstance(data, list | tuple):
        parts = enumerate(data)
    for key, part in parts:
        yield (*at, key)
        yield from _paths(part, (*at, key))


def parse(text: str, name: str, folder: Path = Path()) -> Document:
    """Parse YAML text; raise BadInput with the line of the first error."""
    refuse_markup(text, name)
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
) -> object:
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


def _scalar(node: yaml.Node, loader: _Loader, name: str) -> object:
    # YAML 1.1 reads 0640 as an octal number, which is then 416; YAML 1.2 does not.
    if isinstance(node, yaml.ScalarNode) and OLD_OCTAL.fullmatch(str(node.value)):
        return node.value
    try:
        return loader.construct_object(node)
    # for text that looks like a number but is none, such as `0x_`
    except (ValueError, OverflowError):
        what = f"{str(node.value)[: limits.MOST_DIGITS]!r} is not a number"
        where = f"{name}:{node.start_mark.line + 1}"
        raise BadInput(what, where, "put text in quotes") from None


def validate(model: type[Model], document: Document, at: Location = ()) -> Model:
    """Return data as a model; raise BadInput, with its line, for the errors in the file's order."""
    data = document.data
    for step in at:
        data = data[step]
    try:
        return model.model_validate(data)
    except ValidationError as error:
        problems = Problems()
        for location, what in sentences(error, model, document.lines, at):
            problems.errors.append(document.refuse(what, location))
        raise problems.together() from None
