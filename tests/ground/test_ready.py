"""Signs that a program of a node is ready: read as meant, sent as read, refused with their line."""

from __future__ import annotations

import pytest
import yaml

from delaylab.errors import BadInput
from delaylab.resolve.load import lab_from
from delaylab.spec.source import parse


@pytest.mark.parametrize(
    "sign",
    [
        {"tcp": 80},
        {"udp": 65535},
        {"prints": "listening"},
        {"file": "/run/up"},
        {"command": ["test", "-e", "/run/up"]},
        {"ends": True},
    ],
)
def test_a_sign_of_a_program_goes_to_the_agent_as_it_is_in_the_file(
    sign: dict[str, object],
) -> None:
    data = {"lab": "one", "nodes": {"a": {"start": [{"run": "sleep 9", "ready": sign}]}}}
    (program,) = lab_from(parse(yaml.dump(data), "lab.yaml")).nodes["a"].start
    assert program.ready is not None
    assert program.ready.message() == sign


@pytest.mark.parametrize(
    ("ready", "says"),
    [
        ("{}", "`ready` has one of tcp, udp, prints, file, command, and `ends: true`"),
        ("{tcp: 80, udp: 80}", "`ready` has one of tcp, udp"),
        ("{ends: false}", "`ready` has one of tcp, udp"),
        ("{tcp: 0}", "tcp: expected at least 1, got 0"),
        ("{tpc: 80}", "unknown field 'tpc'"),
        ("{file: up}", "a file of a node has a path from /"),
        ("80", "ready: expected a mapping (`name: value`), got 80"),
    ],
)
def test_a_wrong_sign_of_a_program_is_refused_with_its_line(ready: str, says: str) -> None:
    text = f"lab: one\nnodes:\n  a:\n    start:\n      - {{run: sleep 9, ready: {ready}}}\n"
    with pytest.raises(BadInput) as caught:
        lab_from(parse(text, "lab.yaml"))
    assert str(caught.value).startswith(f"lab.yaml:5: {says}")
