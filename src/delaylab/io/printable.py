"""Text from outside, made safe to print in a terminal, an HTML page and a drawing."""

from __future__ import annotations

import re

# Control characters of ASCII and Latin-1 except tab and newline; characters that reverse the
# direction of text or are invisible; separators that some terminals take for a newline; surrogates
# (no encoding has them); and characters that XML forbids.
_UNFIT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff]"
)
_BREAKS = str.maketrans({"\n": "\\n", "\t": "\\t"})
# Characters kept from the beginning and from the end of a long error line.
_HEAD, _TAIL = 600, 300


def printable(text: str) -> str:
    """Return text with unprintable characters replaced by escapes such as ``\\x1b``."""
    return _UNFIT.sub(_escape, text)


def one_line(text: str) -> str:
    """Return text as one printable line, with the middle of a very long one left out."""
    # Nearly all text is such; tables have tens of thousands of cells.
    if text.isascii() and text.isprintable() and len(text) <= _HEAD + _TAIL:
        return text
    line = printable(text).translate(_BREAKS)
    if len(line) > _HEAD + _TAIL:
        line = f"{line[:_HEAD]} … {line[-_TAIL:]}"
    return line


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
