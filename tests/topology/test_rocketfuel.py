"""Rocketfuel's maps: both files together, directions, fractions, lines of no use."""

from __future__ import annotations

from pathlib import Path

import pytest

from delaylab.errors import BadInput
from delaylab.resolve.lab import Lab
from delaylab.resolve.load import lab_from
from delaylab.spec.lab import LinkSpec
from delaylab.spec.source import parse
from delaylab.topology.lab import MapLab
from delaylab.topology.options import Costs, Options
from delaylab.topology.text import text_of
from delaylab.verbs.maps import imported

AS1755 = Path(__file__).parents[2] / "examples" / "as1755"
WEIGHTS = """\
Paris,+France1 Rome,+Italy2 5
Rome,+Italy2 Paris,+France1 5
Paris,+France1 New+York,+NY3 7.5
New+York,+NY3 Paris,+France1 7.5
"""
LATENCIES = """\
Paris,+France1 Rome,+Italy2 6
Rome,+Italy2 Paris,+France1 6
Paris,+France1 New+York,+NY3 29
New+York,+NY3 Paris,+France1 29
"""


def made(folder: Path, weights: str | None, latencies: str | None = None) -> MapLab:
    for name, text in (("weights.intra", weights), ("latencies.intra", latencies)):
        if text is not None:
            (folder / name).write_text(text)
    return imported(str(folder), "net", None, Options())


def lab(found: MapLab) -> Lab:
    return lab_from(parse(text_of(found), "made.yaml"))


def links(found: MapLab) -> dict[str, LinkSpec]:
    return {str(link.name): link for link in lab(found).written.links}


def test_a_map_of_a_provider_is_whole() -> None:
    found = imported(str(AS1755), None, None, Options())
    network = lab(found)
    assert network.name == "as1755"
    assert (len(network.nodes), len(network.links)) == (87, 161)
    assert all(node.forwards for node in network.nodes.values())
    assert all(len(str(link.name)) <= 15 for link in network.written.links)
    assert len({link.name for link in network.written.links}) == 161
    assert {str(link.delay) for link in network.written.links if link.delay} >= {"1ms", "29ms"}
    assert any("costs are 2 times the weights" in text for text in found.assumptions)
    assert found.map.problems == ()


def test_either_file_and_the_folder_are_the_same_map() -> None:
    whole = text_of(imported(str(AS1755), None, None, Options()))
    for name in ("weights.intra", "latencies.intra"):
        assert text_of(imported(str(AS1755 / name), None, None, Options())) == whole


def test_weights_and_latencies_meet(tmp_path: Path) -> None:
    found = links(made(tmp_path, WEIGHTS, LATENCIES))
    assert {name: (str(each.delay), each.cost) for name, each in found.items()} == {
        "paris1-rome2": ("6ms", 10),
        "newyo3-paris1": ("29ms", 15),
    }


def test_weights_alone_have_no_delays(tmp_path: Path) -> None:
    found = made(tmp_path, WEIGHTS)
    assert all(link.delay is None for link in links(found).values())
    assert any("no delays" in text for text in found.assumptions)


def test_latencies_alone_give_costs_of_delays(tmp_path: Path) -> None:
    found = links(made(tmp_path, None, LATENCIES))
    assert found["newyo3-paris1"].cost_of("") > found["paris1-rome2"].cost_of("") * 4


def test_costs_may_be_hops(tmp_path: Path) -> None:
    (tmp_path / "weights.intra").write_text(WEIGHTS)
    found = imported(str(tmp_path), "net", None, Options(cost=Costs.HOPS))
    assert {link.cost for link in lab(found).written.links} == {1}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("Rome,+Italy2 Oslo,+Norway4 3\n", "1 link is in the source in one direction only"),
        ("Oslo,+Norway4 Oslo,+Norway4 3\n", "1 link joins a node with itself: dropped (line 5)"),
        (
            "Paris,+France1 Rome,+Italy2 9\nRome,+Italy2 Paris,+France1 9\n",
            "1 link is parallel to another: kept, its name ends in -2 (line 5)",
        ),
        (
            "Rome,+Italy2 Oslo,+Norway4 3\nOslo,+Norway4 Rome,+Italy2 4\n",
            "1 link has two weights, one in each direction: the first one counts in both (line 6)",
        ),
        (
            "Lima,+Peru8 Oslo,+Norway4 3\nOslo,+Norway4 Lima,+Peru8 3\n",
            "the network has 2 parts that no link joins; the largest has 3 nodes",
        ),
    ],
)
def test_lines_that_were_appended_are_noticed(tmp_path: Path, more: str, said: str) -> None:
    found = made(tmp_path, WEIGHTS + more)
    assert [text for text in found.assumptions if text.startswith(said)]


def test_delays_of_both_directions_are_kept(tmp_path: Path) -> None:
    found = made(
        tmp_path,
        WEIGHTS,
        LATENCIES.replace("Rome,+Italy2 Paris,+France1 6", "Rome,+Italy2 Paris,+France1 8"),
    )
    link = links(found)["paris1-rome2"]
    assert str(link.delay) == "6ms"
    assert str(link.sent_from["rome2"].delay) == "8ms"


def test_every_line_of_no_use_is_named(tmp_path: Path) -> None:
    text = WEIGHTS + "Paris,+France1 Rome,+Italy2\nA B nan\nA B -1\nA B 1e400\n"
    found = made(tmp_path, text, LATENCIES + "X Y 3\n")
    assert [(each.line, Path(each.file).name) for each in found.map.problems] == [
        *((line, "weights.intra") for line in (5, 6, 7, 8)),
        (5, "latencies.intra"),
    ]
    assert found.map.malformed == 5
    assert len(lab(found).nodes) == 3


def test_weights_that_are_too_large_are_scaled(tmp_path: Path) -> None:
    found = made(tmp_path, WEIGHTS.replace("7.5", "131070"))
    assert {link.cost for link in lab(found).written.links} == {2, 65535}
    assert any("scaled" in text for text in found.assumptions)


def test_a_folder_without_a_map_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no map is in this folder"):
        imported(str(tmp_path), None, None, Options())


def test_two_maps_in_a_folder_are_refused(tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / f"{number}.weights.intra").write_text(WEIGHTS)
    with pytest.raises(BadInput, match="2 maps are in this folder"):
        imported(str(tmp_path), None, None, Options())
