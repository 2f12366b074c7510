"""Verbs of labs in a light install, without the packages of the extra `study`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.light import SMALL, WITHOUT, light, python

pytestmark = pytest.mark.root
ROUTED = """\
lab: routed
routing: {ospf: {hello: 1s, dead: 2s}}
nodes: {r1: {forwards: true}, r2: {forwards: true}, r3: {forwards: true}}
links:
  - {between: [r1, r2], name: l12}
  - {between: [r2, r3], name: l23}
  - {between: [r1, r3], name: l13}
"""


def test_a_lab_is_planned_drawn_used_and_taken_down(tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text(SMALL)
    assert light(tmp_path, "plan", "lab.yaml").startswith("lab small: ")
    assert "a — b" in light(tmp_path, "graph", "lab.yaml")
    light(tmp_path, "up", "lab.yaml")
    assert "small" in light(tmp_path, "ps")
    assert light(tmp_path, "exec", "a", "--", "echo", "here") == "here\n"
    for quiet in ([], ["--quiet"]):
        found = json.loads(
            light(tmp_path, "ping", *quiet, "-c", "3", "-i", "10ms", "--json", "127.0.0.1")
        )
        assert found["replied"] == 3
        assert found["rtt_user_ns"]["n"] == 3
    assert "loss=1%" in light(tmp_path, "link", "show")
    assert "netns" in light(tmp_path, "doctor", "--kind", "netns")
    light(tmp_path, "down", "small")


def test_routers_are_waited_for_broken_and_watched(tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text(ROUTED)
    assert "the forwarding tables of 3 routers are right" in light(tmp_path, "up", "lab.yaml")
    assert "all tables right" in light(tmp_path, "converge", "--down", "l12")
    fix = "(pip install 'delaylab[study]')"
    refused = light(tmp_path, "converge", "--up", "l12", "--svg", "x.svg", code=3)
    assert refused.startswith("delaylab: a picture of routers over time needs the Python package")
    assert refused.endswith(f", which is not installed {fix}\n")
    assert json.loads(light(tmp_path, "ps", "--json")), "it is as it was"
    light(tmp_path, "watch", "--for", "1s")
    light(tmp_path, "down", "routed")


PROGRAM = f"""{WITHOUT}
import delaylab
import delaylab_study
with delaylab.up("lab.yaml") as running:
    assert running.node("a").run(["echo", "here"]).stdout == "here\\n"
    assert running.node("a").ping(running.node("b"), count=3, interval="10ms").sent == 3
assert len(delaylab.generate("ring", {{"nodes": 4}}).lab.nodes) == 4
try:
    delaylab_study.read
except delaylab.NotHere as error:
    print(error)
"""


def test_a_program_brings_a_lab_up_and_pings(tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text(SMALL)
    said = python(tmp_path, PROGRAM)
    assert said.startswith("delaylab_study.read needs the Python package ")
