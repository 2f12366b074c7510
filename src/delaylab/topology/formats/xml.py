"""XML as a tree with line numbers; declarations of entities are refused before they can act."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from delaylab.errors import BadInput

MOST_DEPTH = 50
MOST_ELEMENTS = 250_000


@dataclass(slots=True)
class Element:
    """An element: its local name, attributes, text, and children."""

    tag: str
    attributes: dict[str, str]
    line: int
    parts: list[str] = field(default_factory=list)
    """The pieces of its text, between the elements in it."""
    children: list[Element] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Return the text outside of the elements in it."""
        return "".join(self.parts)

    def find(self, tag: str) -> Element | None:
        """Return the first child of this name."""
        return next(self.all(tag), None)

    def all(self, tag: str) -> Iterator[Element]:
        """Yield the children of this name."""
        return (child for child in self.children if child.tag == tag)

    def below(self, tag: str) -> Element | None:
        """Return the first element of this name anywhere below."""
        for child in self.children:
            found = child if child.tag == tag else child.below(tag)
            if found is not None:
                return found
        return None

    def text_of(self, tag: str) -> str:
        """Return the text of the first child of this name; "" if there is none."""
        found = self.find(tag)
        return "" if found is None else found.text.strip()


class _Tree:
    """Handlers of the parser that build the tree."""

    def __init__(self, parser: expat.XMLParserType, name: str) -> None:
        self.root: Element | None = None
        self._parser, self._name = parser, name
        self._open: list[Element] = []
        self._count = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        line = self._parser.CurrentLineNumber
        self._count += 1
        if len(self._open) == MOST_DEPTH:
            raise BadInput(f"elements are nested more than {MOST_DEPTH} deep", self._at(line))
        if self._count > MOST_ELEMENTS:
            raise BadInput(f"more than {MOST_ELEMENTS} elements", self._at(line))
        made = Element(tag.rpartition(":")[2], attributes, line)
        if self._open:
            self._open[-1].children.append(made)
        else:
            self.root = made
        self._open.append(made)

    def end(self, _: str) -> None:
        self._open.pop()

    def characters(self, text: str) -> None:
        if self._open and not text.isspace():
            self._open[-1].parts.append(text)

    def refuse_doctype(self, *_: Any) -> None:
        what = "a DOCTYPE declares what the text means: it is not read"
        raise BadInput(what, self._at(self._parser.CurrentLineNumber), "remove it")

    def _at(self, line: int) -> str:
        return f"{self._name}:{line}"


def parse(text: str, name: str) -> Element:
    """Return the root of a document; raise BadInput, with the line, for what is no plain XML."""
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    tree = _Tree(parser, name)
    parser.StartElementHandler, parser.EndElementHandler = tree.start, tree.end
    parser.CharacterDataHandler = tree.characters
    parser.StartDoctypeDeclHandler = tree.refuse_doctype
    try:
        parser.Parse(text.encode("utf-8", "surrogatepass"), True)
    except expat.ExpatError as error:
        raise BadInput(
            f"not XML: {expat.ErrorString(error.code)}", f"{name}:{error.lineno}"
        ) from None
    assert tree.root is not None  # the parser raises an error for a document without elements
    return tree.root
