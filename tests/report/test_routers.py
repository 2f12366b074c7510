"""Ways over routers: every station under its own node, no two cells over each other, names told."""

from __future__ import annotations

import io
import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console

from delaylab_study.report.html import write_report
from delaylab_study.report.show import as_json
from delaylab_study.verbs.datasets import show
from tests import synthetic
from tests.plain import plain as as_script
from tests.synthetic import Condition, constant, hops

SVG = "{http://www.w3.org/2000/svg}"
TWO = ("probe", "first", "second", "echo")
# As wide as "30.0 ms" in bold letters of 12.5 px.
WIDE_ENOUGH = 62


def drawings(place: Path, conditions: list[Condition]) -> list[ElementTree.Element]:
    write_report(synthetic.write(place, conditions))
    return [ElementTree.parse(each).getroot() for each in sorted(place.glob("charts/way-*.svg"))]


def tiers(svg: ElementTree.Element) -> list[ElementTree.Element]:
    return svg.findall(f"{SVG}g")


def regions(tier: ElementTree.Element) -> list[tuple[str, float, float]]:
    """Return the name and both sides of each node's rectangle in a tier."""
    found = []
    for each in tier.findall(f"{SVG}rect"):
        left = float(each.attrib["x"])
        title = each.findtext(f"{SVG}title") or ""
        found.append((title, left, left + float(each.attrib["width"])))
    return found


def stations(svg: ElementTree.Element) -> list[tuple[str, str]]:
    """Return each station's name, and the node's rectangle that it is in.

    A tier begins with the station at which the one before it ends; it is there once.
    """
    found: list[tuple[str, str]] = []
    for tier in tiers(svg):
        texts = {
            each.attrib["x"]: each.text for each in tier.findall(f"{SVG}text[@font-size='11']")
        }
        here = []
        for circle in tier.findall(f"{SVG}circle"):
            x = float(circle.attrib["cx"])
            (name,) = [name for name, left, right in regions(tier) if left < x < right]
            here.append((texts[circle.attrib["cx"]] or "", name))
        assert not found or here[0] == found[-1]
        found += here[1:] if found else here
    return found


def cells(tier: ElementTree.Element) -> list[tuple[float, float]]:
    boxes = tier.findall(f"{SVG}g/{SVG}rect")
    return [(float(box.attrib["x"]), float(box.attrib["width"])) for box in boxes]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    slow = {("request", "hop2.near"): constant(30_000), ("reply", "hop1.near"): constant(700)}
    place = tmp_path_factory.mktemp("two")
    drawings(place, [Condition(hops=hops(*TWO), delays=slow)])
    return place


def test_every_station_is_under_its_own_node(two: Path) -> None:
    svg = ElementTree.parse(two / "charts" / "way-1-netns.svg").getroot()
    first, second = "router first", "router second"
    assert stations(svg) == [
        *[(name, "node probe") for name in ("intended", "app", "qdisc", "stack")],
        *[("vif", "host sut"), ("near", first), ("far", first), ("near", second), ("far", second)],
        *[("stack", "host target"), ("stack", "host target")],
        *[("far", second), ("near", second), ("far", first), ("near", first), ("vif", "host sut")],
        *[("stack", "node probe"), ("app", "node probe")],
    ]


@pytest.mark.parametrize("routers", [1, 2, 10])
def test_cells_are_side_by_side_and_inside(tmp_path: Path, routers: int) -> None:
    nodes = ["probe", *(f"r{n}" for n in range(routers)), "echo"]
    (svg,) = drawings(tmp_path, [Condition(hops=hops(*nodes), packets=40)])
    width = float(svg.attrib["viewBox"].split()[2])
    assert sum(len(cells(tier)) for tier in tiers(svg)) == 9 + 4 * routers
    for tier in tiers(svg):
        found = cells(tier)
        assert min(width for _, width in found) >= WIDE_ENOUGH
        assert all(x + width <= after for (x, width), (after, _) in pairwise(found))
        assert found[-1][0] + found[-1][1] <= width
    drawn = re.search(r"min-width:(\d+)px", svg.attrib["style"])
    assert drawn is not None
    assert int(drawn[1]) >= 0.8 * width - 1
    # It is read whole on a screen of 1280 px, which leaves 1180 for it.
    assert int(drawn[1]) <= 1180
    heights = [float(tier.attrib["transform"].split()[1].rstrip(")")) for tier in tiers(svg)]
    assert heights == sorted(set(heights))
    assert heights[-1] < float(svg.attrib["viewBox"].split()[3])


def test_the_terminal_says_which_router_and_which_link(two: Path) -> None:
    out = io.StringIO()
    show(Console(file=out, width=100), two)
    marked = re.findall(r"│ ([→←⇢⇠↻] .*?) +│", out.getvalue())
    assert len(marked) == len(set(marked))
    rows = [row[2:] for row in marked]
    for name in ("router (first)", "router (second)", "bridge (first-second)"):
        assert rows.count(name) == 2
    assert "router" not in rows
    assert "⇢ router (first)" in marked
    assert "⇠ router (first)" in marked
    assert [row for row in rows if "(second-echo)" in row]


def test_json_names_the_router_and_the_link_of_a_segment(two: Path) -> None:
    (trial,) = as_script(as_json(two))["trials"]
    at = [part["at"] for part in trial["segments"] if part["leg"] == "request"]
    assert at[:4] == [""] * 4
    assert at[4:] == ["probe-first", "first", "first-second", "second", "second-echo"]


def test_groups_that_pass_different_routers_name_none(tmp_path: Path) -> None:
    ways = [
        Condition(factors={"way": name}, hops=hops("probe", name, "echo"), packets=40)
        for name in ("left", "right")
    ]
    (svg,) = drawings(tmp_path, ways)
    assert ("near", "router 1") in stations(svg)
    out = io.StringIO()
    show(Console(file=out, width=100), tmp_path)
    layers = out.getvalue().partition("The slowest packets")[0]
    assert "router (hop1)" in layers
    assert "router (left)" not in layers


def test_a_way_without_routers_names_no_link(tmp_path: Path) -> None:
    (trial,) = as_script(as_json(synthetic.write(tmp_path, [Condition(packets=40)])))["trials"]
    assert {part["at"] for part in trial["segments"]} == {""}
