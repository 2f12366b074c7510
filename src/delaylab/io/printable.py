"""Text from outside, made safe to print in a terminal, an HTML page and a drawing."""

from __future__ import annotations

import re

# All but ASCII's printable characters, tab and newline: what `_escape` then looks at one by one.
_DOUBTFUL = re.compile("[^\t\n -~]")
_UNFIT = frozenset({"Cc", "Cf", "Cs", "Cn", "Zl", "Zp"})
"""Categories of Unicode that are escaped: control characters; characters that are invisible or
reverse the direction of text; surrogates, which no encoding has; what Unicode does not define, as
XML forbids some of it; and separators that some terminals take for a newline."""
_JOINERS = "\u200c\u200d"
"""Invisible, but words of many languages need them, and so does emoji."""
_BREAKS = str.maketrans({"\n": "\\n", "\t": "\\t"})
# Characters kept from the beginning and from the end of a long error line.
_HEAD, _TAIL = 600, 300


def printable(text: str) -> str:
    """Return text with unprintable characters replaced by escapes such as ``\\x1b``."""
    return _DOUBTFUL.sub(_escape, text)


def one_line(text: str) -> str:
    """Return text as one printable line, with the middle of a very long one left out."""
    # Nearly all text is such; tables have tens of thousands of cells.
    if text.isascii() and text.isprintable() and len(text) <= _HEAD + _TAIL:
        return text
    line = printable(text).translate(_BREAKS)
    if len(line) > _HEAD + _TAIL:
        line = f"{line[:_HEAD]} … {line[-_TAIL:]}"
    return line


def is_name(text: str) -> bool:
    """Return True for text without spaces in which each character can be seen."""
    return text.isprintable() and " " not in text


def as_name(text: str) -> str:
    """Return text as a name: with `_` for each character that a name cannot have."""
    return text if is_name(text) else "".join(char if is_name(char) else "_" for char in text)


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    if char.isprintable() or char in _JOINERS:
        return char
    from unicodedata import category  # noqa: PLC0415  what is ASCII alone needs none

    if category(char) not in _UNFIT:
        return char
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
