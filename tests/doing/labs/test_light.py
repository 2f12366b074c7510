"""Verbs of labs in a light install, without the packages of the extra `study`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.root
LIGHT = """
import sys
from delaylab.extras import PACKAGES

class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in PACKAGES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refused())
from delaylab.__main__ import main
main()
"""
SMALL = """\
lab: small
nodes: {a: {}, b: {}}
links:
  - {between: [a, b], name: wan, delay: 1ms, loss: 1%}
"""
ROUTED = """\
lab: routed
routing: {ospf: {hello: 1s, dead: 2s}}
nodes: {r1: {forwards: true}, r2: {forwards: true}, r3: {forwards: true}}
links:
  - {between: [r1, r2], name: l12}
  - {between: [r2, r3], name: l23}
  - {between: [r1, r3], name: l13}
"""
Light = Callable[..., str]


@pytest.fixture
def light(tmp_path: Path) -> Light:
    """Return what runs the command line where no package of the extra can be imported."""

    def run(*argv: str, code: int = 0) -> str:
        command = [sys.executable, "-c", LIGHT, *argv]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert ran.returncode == code, ran.stderr
        return ran.stdout if code == 0 else ran.stderr

    return run


def test_a_lab_is_planned_drawn_used_and_taken_down(light: Light, tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text(SMALL)
    assert light("plan", "lab.yaml").startswith("lab small: ")
    assert "a — b" in light("graph", "lab.yaml")
    light("up", "lab.yaml")
    assert "small" in light("ps")
    assert light("exec", "a", "--", "echo", "here") == "here\n"
    for quiet in ([], ["--quiet"]):
        found = json.loads(light("ping", *quiet, "-c", "3", "-i", "10ms", "--json", "127.0.0.1"))
        assert found["replied"] == 3
        assert found["rtt_user_ns"]["n"] == 3
    assert "loss=1%" in light("link", "show")
    assert "netns" in light("doctor", "--kind", "netns")
    light("down", "small")


def test_routers_are_waited_for_broken_and_watched(light: Light, tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text(ROUTED)
    assert "the forwarding tables of 3 routers are right" in light("up", "lab.yaml")
    assert "all tables right" in light("converge", "--down", "l12")
    fix = "(pip install 'delaylab[study]')"
    refused = light("converge", "--up", "l12", "--svg", "x.svg", code=3)
    assert refused.startswith("delaylab: a picture of routers over time needs the Python package")
    assert refused.endswith(f", which is not installed {fix}\n")
    assert json.loads(light("ps", "--json")), "it is as it was"
    light("watch", "--for", "1s")
    light("down", "routed")


@pytest.mark.parametrize(
    "argv", [["run", "quickstart"], ["show", "x"], ["compare", "x", "y"]], ids=" ".join
)
def test_a_verb_of_studies_is_one_line(light: Light, argv: list[str]) -> None:
    said = light(*argv, code=3)
    assert said.startswith(f"delaylab: `delaylab {argv[0]}` needs the Python package ")
    assert said.endswith(", which is not installed (pip install 'delaylab[study]')\n")


def test_a_picture_of_a_lab_needs_no_package_where_the_file_has_places(
    light: Light, tmp_path: Path
) -> None:
    (tmp_path / "lab.yaml").write_text(SMALL)
    assert "no place (`at`) needs the Python package" in light(
        "graph", "lab.yaml", "--svg", "-", code=3
    )
    placed = "nodes: {a: {at: {x: 0, y: 0}}, b: {at: {x: 1, y: 1}}}"
    (tmp_path / "lab.yaml").write_text(SMALL.replace("nodes: {a: {}, b: {}}", placed))
    assert light("graph", "lab.yaml", "--svg", "-").startswith("<svg")
