"""Bounds and defaults of conditions for Python, from the schema that the agent prints."""

from __future__ import annotations

from pathlib import Path

from tools.agent_protocol import protocol
from tools.message_types import HEAD, formatted

MODULE = Path("src/delaylab/spec/conditions/bounds.py")


def bounds() -> str:
    """Return the text of the module."""
    head = HEAD.format(subject="Bounds and defaults of conditions, as the link engines have them")
    found = protocol()["bounds"]
    lines = [f'{each["name"]} = {each["value"]}\n"""{each["about"]}"""' for each in found]
    return formatted(head + "\n".join(lines))


if __name__ == "__main__":
    MODULE.write_text(bounds())
