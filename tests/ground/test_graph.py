"""`delaylab graph` draws each node in its host's box and each link at the nodes that it joins."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from delaylab.cli import app
from delaylab.drawing.layout import Graph, graph
from delaylab.drawing.svg import MOST_LANES, svg
from delaylab.drawing.text import lines
from delaylab.errors import BadInput
from delaylab.spec.load import lab_from
from delaylab.spec.source import parse

ROOT = Path(__file__).parent.parent.parent
LAB = """
lab: two
hosts: {left: {}, right: {}}
nodes:
  a: {host: left}
  r: {host: right, forwards: true}
  b: {host: left}
links:
  - {between: [a, r], name: access, delay: 5ms, from: {r: {loss: 1%}}}
  - {between: [r, b], name: sea, rate: 10Mbit}
  - {join: [a, b], name: side}
"""


def made(text: str) -> Graph:
    return graph(lab_from(parse(text, "lab.yaml")))


def drawn(text: str, width: int = 80) -> str:
    return "\n".join(lines(made(text), width))


def test_the_picture_in_the_terminal() -> None:
    assert drawn(LAB).splitlines() == [
        "lab two",
        "┌ left ────────────┐",
        "│ a  netns         ├─3──1",
        "│ b  netns         ├─3──┼──2",
        "└──────────────────┘    │  │",
        "┌ right ───────────┐    │  │",
        "│ r  netns, router ├────1──2",
        "└──────────────────┘",
        "1  access: a — r",
        "   from a: delay=5ms",
        "   from r: delay=5ms loss=1%",
        "2  sea: r — b",
        "   each direction: rate=10Mbit",
        "3  side: a — b",
    ]


def chain(count: int) -> str:
    nodes = ", ".join(f"n{n}: {{}}" for n in range(count))
    links = "".join(f"\n  - {{between: [n{n}, n{n + 1}]}}" for n in range(count - 1))
    return f"lab: chain\nnodes: {{{nodes}}}\nlinks:{links}\n"


def star(count: int) -> str:
    nodes = ", ".join(f"n{n}: {{}}" for n in range(count))
    links = "".join(f"\n  - {{between: [n0, n{n}]}}" for n in range(1, count))
    return f"lab: star\nnodes: {{{nodes}}}\nlinks:{links}\n"


def test_a_chain_of_any_length_needs_two_lanes() -> None:
    found = made(chain(300))
    assert found.lanes == 2
    for link in found.links:
        for other in found.links:
            if link.number < other.number and link.lane == other.lane:
                assert link.rows[-1] < other.rows[0]


def test_lines_that_do_not_fit_are_said_to_be_left_out() -> None:
    text = drawn(star(60), 60)
    assert "a wider terminal or --svg FILE shows them" in text
    assert "59  n0-n59: n0 — n59" in text
    assert max(map(len, text.splitlines())) <= 80


def test_the_svg_has_every_node_link_and_condition_once() -> None:
    root = ElementTree.fromstring(svg(made(LAB)))
    texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    for name in ("left", "right", "a", "b", "r", "3  side: a — b", "from r: delay=5ms loss=1%"):
        assert texts.count(name) == 1, name
    circles = list(root.iter("{http://www.w3.org/2000/svg}circle"))
    assert len(circles) == 6
    assert [texts.count(number) for number in "123"] == [2, 2, 2]
    assert re.findall(r"https?://[^\"]+", svg(made(LAB))) == ["http://www.w3.org/2000/svg"]


def test_more_links_side_by_side_than_a_picture_holds_are_refused() -> None:
    with pytest.raises(BadInput, match="side by side"):
        svg(made(star(MOST_LANES + 2)))


@pytest.mark.parametrize("name", ["testbed", "wan", "guests", "triangle", "timeline"])
def test_examples_are_drawn(name: str, tmp_path: Path) -> None:
    lab, target = str(ROOT / "examples" / f"{name}.yaml"), tmp_path / "lab.svg"
    shown = CliRunner().invoke(app, ["graph", lab])
    assert (shown.exit_code, "┌" in shown.stdout) == (0, True)
    assert CliRunner().invoke(app, ["graph", lab, "--svg", str(target)]).exit_code == 0
    printed = CliRunner().invoke(app, ["graph", lab, "--svg", "-"])
    assert printed.stdout == target.read_text()
    ElementTree.parse(target)


def test_the_command_names_interfaces(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text(
        "lab: two\nhosts: {h: {}}\nnodes: {a: {}, bare: {kind: native}}\n"
        "links: [{join: [a, bare], name: access}]\n"
    )
    shown = CliRunner().invoke(app, ["graph", str(file)]).output
    assert "access: a — bare br-access" in shown, "the name of the link is that of its interfaces"
    printed = CliRunner().invoke(app, ["graph", str(file), "--svg", "-"]).output
    assert "access: a — bare br-access" in printed


def test_a_lab_that_cannot_run_here_is_drawn_without_interfaces(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text(
        "lab: x\nnodes: {a: {kind: native, forwards: true}, b: {}}\nlinks: [{between: [a, b]}]\n"
    )
    shown = CliRunner().invoke(app, ["graph", str(file)])
    assert (shown.exit_code, "a-b: a — b" in shown.output) == (0, True)
