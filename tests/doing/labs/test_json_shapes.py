"""`ps`, `link show` and `ping` print the JSON that they printed before: scripts rely on its names.

The golden files hold each value's type, as the version before November 2026 printed it for this
lab, and the names that were added since.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.doing.conftest import Run, Up, as_json

GOLDEN = Path(__file__).parent / "golden"
LAB = """\
lab: shapes
nodes: {a: {}, b: {}}
links:
  - between: [a, b]
    name: wan
    delay: 2ms
    jitter: 100us
"""
COMMANDS = {
    "ps": ("ps", "--json"),
    "link": ("link", "show", "--json"),
    "ping": ("ping", "-c", "520", "-i", "1ms", "--json", "127.0.0.1"),
}


def shape(value: Any) -> Any:
    """The types in a JSON value; a list's by its first value."""
    if isinstance(value, dict):
        return {name: shape(part) for name, part in value.items()}
    if isinstance(value, list):
        return [shape(part) for part in value[:1]]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "number"
    return "null" if value is None else type(value).__name__


MACHINE = {"quiet", "verdict", "seconds", "disturbed_s", "state", "while_disturbed", "late"}
"""The names of what `ping` says of this machine; their values depend on what it did."""


@pytest.mark.parametrize("command", COMMANDS)
def test_the_json_is_as_before(delaylab: Run, up: Up, command: str) -> None:
    up(LAB)
    found = shape(as_json(delaylab(*COMMANDS[command])))
    if command == "ping":
        assert set(found.pop("machine")) == MACHINE
    assert found == json.loads((GOLDEN / f"{command}.json").read_text())
