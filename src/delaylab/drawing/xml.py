"""Text for drawings: the one place where it becomes XML."""

from __future__ import annotations

from xml.sax.saxutils import escape

from delaylab.io.printable import printable


def xml(text: str) -> str:
    """Return text as the content of an XML element or a quoted attribute."""
    return escape(printable(text), {'"': "&quot;", "'": "&apos;"})
