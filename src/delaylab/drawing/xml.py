"""Text for drawings: the one place where it becomes XML."""

from __future__ import annotations

from delaylab.io.printable import printable

# `xml.sax.saxutils` has the same function; to import it takes 10 ms, since it can also open URLs.
_ENTITIES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"},
)


def xml(text: str) -> str:
    """Return text as the content of an XML element or a quoted attribute."""
    return printable(text).translate(_ENTITIES)
