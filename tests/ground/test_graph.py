"""`delaylab graph` draws each node in its host's box and each link at the nodes that it joins."""

from __future__ import annotations

import itertools
import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from delaylab.cli import whole
from delaylab.drawing import stress
from delaylab.drawing.layout import Graph, graph
from delaylab.drawing.picture import Picture, States, picture
from delaylab.drawing.stress import Place
from delaylab.drawing.svg import STATES, Sheet, box_of, page, svg
from delaylab.drawing.text import lines
from delaylab.resolve.load import lab_from
from delaylab.spec.source import parse
from delaylab.verbs import kept_places

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


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep places of this module's drawings out of the user's cache."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("DELAYLAB_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


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


SVG = "{http://www.w3.org/2000/svg}"


def pictured(text: str, kept: Mapping[str, Place] | None = None, **more: Any) -> Picture:
    lab = lab_from(parse(text, "lab.yaml"))
    return picture(lab, graph(lab), kept or {}, **more)


def at(found: Picture) -> dict[str, Place]:
    return {spot.name: (spot.x, spot.y) for spot in found.spots}


def elements(text: str, tag: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(text).iter(f"{SVG}{tag}"))


def test_the_svg_has_every_host_node_link_and_condition() -> None:
    drawing = svg(pictured(LAB))
    texts = [each.text for each in elements(drawing, "text")]
    for name in ("left", "right", "a", "b", "r", "Lab two: 3 nodes, 3 links"):
        assert texts.count(name) == 1, name
    assert {each.get("data-name") for each in elements(drawing, "circle")} == {"a", "b", "r"}
    titles = [each[0].text for each in elements(drawing, "path")]
    assert titles == [
        "access: a — r; from a: delay=5ms; from r: delay=5ms loss=1%",
        "sea: r — b; each direction: rate=10Mbit",
        "side: a — b",
    ]
    assert texts.count("rate=10Mbit") == 1
    assert re.findall(r"https?://[^\"]+", drawing) == ["http://www.w3.org/2000/svg"]


def test_nodes_stand_in_the_boxes_of_their_hosts_and_boxes_apart() -> None:
    lab = lab_from(parse(LAB, "lab.yaml"))
    found = pictured(LAB)
    spots = {spot.name: spot for spot in found.spots}
    for box in found.boxes:
        for name, spot in spots.items():
            inside = box.left < spot.x < box.right and box.top < spot.y < box.bottom
            assert inside == (lab.host_of(name) == box.host), (box.host, name)
    one, other = found.boxes
    apart = one.right <= other.left or one.bottom <= other.top
    assert apart


def test_parallel_links_are_apart_and_a_link_of_many_meets_in_a_point() -> None:
    text = "lab: par\nnodes: {a: {}, b: {}, c: {}}\nlinks:"
    for name, ends in (("one", "a, b"), ("two", "b, a"), ("three", "a, b"), ("many", "a, b, c")):
        how = "join" if name == "many" else "between"
        text += f"\n  - {{{how}: [{ends}], name: {name}}}"
    found = pictured(text)
    sheet = Sheet(found)
    middles = [sheet.along(line, 0.5) for line in found.lines if line.link != "many"]
    for (x, y), (to_x, to_y) in itertools.combinations(middles, 2):
        assert math.hypot(to_x - x, to_y - y) > 20
    hubs = [i for i, spot in enumerate(found.spots) if spot.hub]
    assert len(hubs) == 1
    assert [line.ends[1] for line in found.lines if line.link == "many"] == hubs * 3


def test_places_are_the_same_each_time_and_stay_when_a_node_is_added() -> None:
    before = pictured(chain(30))
    assert at(pictured(chain(30))) == at(before)
    after = pictured(chain(31), before.places)
    assert before.places.items() <= after.places.items()
    x, y = after.places["n30"]
    distances = {name: math.hypot(x - a, y - b) for name, (a, b) in before.places.items()}
    assert min(distances, key=distances.__getitem__) == "n29"
    assert 0.3 < distances["n29"] < 2
    # One that goes leaves the others where they are, too.
    assert pictured(chain(29), after.places).places.items() <= before.places.items()


def test_a_chain_is_drawn_about_as_long_as_it_is_and_nothing_lies_on_each_other() -> None:
    for text, count in ((chain(40), 40), (star(30), 30)):
        found = list(at(pictured(text)).values())
        near = min(math.dist(one, other) for one, other in itertools.combinations(found, 2))
        assert near > 0.1, text[:10]
        assert len(found) == count
    places = at(pictured(chain(40)))
    assert math.dist(places["n0"], places["n39"]) > 25


@given(
    st.integers(1, 14).flatmap(
        lambda n: st.tuples(
            st.just(n),
            st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=30),
            st.dictionaries(
                st.integers(0, n - 1), st.tuples(st.floats(-9, 9), st.floats(-9, 9)), max_size=n
            ),
        )
    )
)
def test_any_graph_gets_places_and_known_ones_stay(
    given_graph: tuple[int, list[tuple[int, int]], dict[int, Place]],
) -> None:
    count, edges, known = given_graph
    found = stress.places(count, edges, known)
    assert found.shape == (count, 2)
    assert np.isfinite(found).all()
    assert {each: tuple(found[each]) for each in known} == known


def test_places_of_the_file_are_kept_to_north_up_and_need_no_memory() -> None:
    cities = {"oslo": (10.7, 59.9), "rome": (12.5, 41.9), "lisbon": (-9.1, 38.7)}
    nodes = ", ".join(
        f"{name}: {{at: {{longitude: {east}, latitude: {north}}}}}"
        for name, (east, north) in cities.items()
    )
    links = "links: [{between: [oslo, rome]}, {between: [rome, lisbon]}]"
    found = pictured(f"lab: map\nnodes: {{{nodes}}}\n{links}\n")
    places = at(found)
    assert found.places == {}
    assert places["oslo"][1] < places["rome"][1] < places["lisbon"][1]
    assert places["lisbon"][0] < places["oslo"][0] < places["rome"][0]
    plane = "lab: p\nnodes: {a: {at: {x: 0, y: 0}}, b: {at: {x: 30, y: 40}}}\nlinks: []\n"
    ((x, y), (to_x, to_y)) = at(pictured(plane)).values()
    assert (to_y - y) / (to_x - x) == pytest.approx(40 / 30)


def test_labels_do_not_overlap_and_the_number_left_out_is_said() -> None:
    for text in (LAB, star(150)):
        drawing = svg(pictured(text))
        boxes = []
        for each in elements(drawing, "text"):
            if each.get("class") in {"node", "condition", "device"}:
                x, y, size = (float(each.get(name, "")) for name in ("x", "y", "font-size"))
                anchor = each.get("text-anchor", "start")
                boxes.append(box_of(x, y, anchor, each.text or "", size))
        for one, other in itertools.combinations(boxes, 2):
            apart = one[2] <= other[0] + 0.2 or other[2] <= one[0] + 0.2
            assert apart or one[3] <= other[1] + 0.2 or other[3] <= one[1] + 0.2
        said = re.search(r"(\d+) labels? left out", drawing)
        shown = sum(each.get("class") == "node" for each in elements(drawing, "text"))
        left_out = len(at(pictured(text))) - shown
        assert (int(said[1]) if said else 0) >= left_out


def test_states_of_a_running_lab_have_colours() -> None:
    states = States(
        {"a": "running", "b": "dead", "r": "running"}, {"sea": "down", "side": "silent"}
    )
    drawing = svg(pictured(LAB, states=states))
    colour = {each.get("data-name"): each.get("stroke") for each in elements(drawing, "circle")}
    assert colour == {"a": STATES["running"], "r": STATES["running"], "b": STATES["down"]}
    dashed = {
        str(each[0].text).partition(":")[0]: each.get("stroke")
        for each in elements(drawing, "path")
        if each.get("stroke-dasharray")
    }
    assert dashed == {"sea": STATES["down"], "side": STATES["silent"]}


def test_the_page_has_all_labels_and_nothing_from_outside() -> None:
    html = page(pictured(star(300)))
    assert html.count('class="node"') == 300
    assert len(re.findall(r'class="spot" data-name="n\d+"', html)) == 300
    assert re.findall(r"(?:src|href)=", html) == []
    assert set(re.findall(r"https?://[^\"]+", html)) == {"http://www.w3.org/2000/svg"}
    assert "<title>Lab star</title>" in html


def test_kept_places_are_read_again_and_damaged_ones_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DELAYLAB_CACHE", str(tmp_path / "cache"))
    file, target = tmp_path / "lab.yaml", tmp_path / "lab.svg"

    def drawing(count: int, *more: str) -> dict[str | None, str | None]:
        file.write_text(chain(count))
        argv = ["graph", str(file), "--svg", str(target), *more]
        assert CliRunner().invoke(whole(), argv).exit_code == 0
        circles = elements(target.read_text(), "circle")
        return {each.get("data-name"): each.get("cx") for each in circles}

    drawing(20)
    (kept,) = (tmp_path / "cache").iterdir()
    before = json.loads(kept.read_text())["places"]
    drawing(21)
    after = json.loads(kept.read_text())["places"]
    assert before.items() <= after.items()
    drawing(21, "--anew")
    assert json.loads(kept.read_text())["places"]["n0"] != after["n0"]
    kept.write_text("{")
    assert len(drawing(20)) == 20


def test_places_of_the_files_drawn_last_are_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DELAYLAB_CACHE", str(tmp_path))
    monkeypatch.setattr(kept_places, "MOST", 3)
    for number in range(5):
        kept_places.write(Path(f"/labs/{number}.yaml"), {"a": (number, 0)})
        (written,) = (file for file in tmp_path.iterdir() if str(float(number)) in file.read_text())
        os.utime(written, (number, number))
    found = [kept_places.read(Path(f"/labs/{number}.yaml")) for number in range(5)]
    assert found == [{}, {}, *({"a": (number, 0)} for number in (2, 3, 4))]


@pytest.mark.parametrize("name", ["testbed", "wan", "guests", "triangle", "timeline"])
def test_examples_are_drawn(name: str, tmp_path: Path) -> None:
    lab, target = str(ROOT / "examples" / f"{name}.yaml"), tmp_path / "lab.svg"
    shown = CliRunner().invoke(whole(), ["graph", lab])
    assert (shown.exit_code, "┌" in shown.stdout) == (0, True)
    assert CliRunner().invoke(whole(), ["graph", lab, "--svg", str(target)]).exit_code == 0
    printed = CliRunner().invoke(whole(), ["graph", lab, "--svg", "-"])
    assert printed.stdout == target.read_text()
    ElementTree.parse(target)
    png, html = tmp_path / "lab.png", tmp_path / "lab.html"
    both = ["graph", lab, "--png", str(png), "--html", str(html)]
    assert CliRunner().invoke(whole(), both).exit_code == 0
    assert png.read_bytes().startswith(b"\x89PNG")
    assert html.read_text().startswith("<!doctype html>")


def test_the_command_names_interfaces(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text(
        "lab: two\nhosts: {h: {}}\nnodes: {a: {}, bare: {kind: native}}\n"
        "links: [{join: [a, bare], name: access}]\n"
    )
    shown = CliRunner().invoke(whole(), ["graph", str(file)]).output
    assert "access: a — bare br-access" in shown, "the name of the link is that of its interfaces"
    printed = CliRunner().invoke(whole(), ["graph", str(file), "--svg", "-"]).output
    assert "access: a — bare br-access" in printed


def test_a_lab_that_cannot_run_here_is_drawn_without_interfaces(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text(
        "lab: x\nnodes: {a: {kind: native, forwards: true}, b: {}}\nlinks: [{between: [a, b]}]\n"
    )
    shown = CliRunner().invoke(whole(), ["graph", str(file)])
    assert (shown.exit_code, "a-b: a — b" in shown.output) == (0, True)
