"""A lab of a map as the text of a lab file: a line for each node and each link."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from textwrap import wrap

from delaylab.io.printable import one_line
from delaylab.topology.lab import MapLab
from delaylab.topology.names import slug

WIDTH = 98
PLAIN = re.compile(
    r"[A-Za-z][A-Za-z0-9_-]*|[0-9]+(\.[0-9]+)?(%|[nmu]?s|min|h|[kMGT]?bit|([kMG]|[KMG]i)?B)"
)
"""Names and quantities, which need no quotes."""
NO_TEXT = frozenset({"true", "false", "null", "yes", "no", "on", "off"})
"""Words that YAML 1.1 or 1.2 reads as something else, in several spellings."""
MOST_16_BITS = 0xFFFF


def text_of(lab: MapLab) -> str:
    """Return the lab file."""
    about = f"{lab.map.format}: {len(lab.nodes)} nodes, {len(lab.links)} links."
    head = [about, *(f"{text[0].upper()}{text[1:]}." for text in lab.assumptions)]
    comment = [f"# {line}" for text in head for line in wrap(one_line(text), WIDTH)]
    whole = [f"{key}: {_flow(value)}" for key, value in lab.whole.items()]
    nodes = [_entry(name, fields, lab.comments.get(name)) for name, fields in lab.nodes.items()]
    links = [f"  - {_flow(fields)}" for fields in lab.links]
    listed = ["links:", *links] if links else []
    return "\n".join([*comment, f"lab: {scalar(lab.name)}", *whole, "nodes:", *nodes, *listed, ""])


def _entry(name: str, fields: Mapping[str, object], comment: str | None) -> str:
    line = f"  {scalar(name)}: {_flow(fields)}"
    if comment is None or slug(comment) == name:
        return line
    return f"{line}  # {one_line(comment)}"


def _flow(value: object) -> str:
    """Return plain data in YAML's flow style."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_flow(key)}: {_flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_flow, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return scalar(value)
    return str(value)


def scalar(text: str) -> str:
    """Return text so that YAML reads the same text: in double quotes unless it is plain."""
    if PLAIN.fullmatch(text) and text.lower() not in NO_TEXT:
        return text
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(char: str) -> str:
    """Return a character as between double quotes of YAML.

    JSON's escapes are YAML's, except for characters beyond 16 bits, of which JSON makes two.
    """
    return json.dumps(char)[1:-1] if ord(char) <= MOST_16_BITS else f"\\U{ord(char):08x}"
