"""Features of single map formats: units, directions, chains, coordinates."""

from __future__ import annotations

import io
import math
import re
from pathlib import Path

import networkx as nx
import pytest

from delaylab.errors import BadInput
from delaylab.spec.source import parse
from delaylab.topology import formats
from delaylab.topology.geography import great_circle_km
from delaylab.topology.model import Position
from delaylab.topology.options import Coordinates, Costs, Options, Shape
from delaylab.topology.source import Source, read_source
from delaylab.units import Duration
from delaylab.verbs.maps import imported
from tests.topology.maps import ROUND_TRIP, SAMPLES, links, of_text, spec

GML_OF_TWO = 'graph [ node [ id 0 label "{}" ] node [ id 1 ] edge [ source 0 target 1 ] ]'
CLOUDS = (SAMPLES / "clouds.csv").read_text()


@pytest.mark.parametrize("name", ["zoo", "directed"])
def test_graphml_is_read_as_networkx_reads_it(name: str) -> None:
    """networkx refuses the malformed values of the Zoo's sample and mixed edges; both go first."""
    text = (SAMPLES / f"{name}.graphml").read_text()
    text = (
        text.replace("north", "46.0")
        .replace("fast", "1")
        .replace(">True<", ">1<")
        .replace(' directed="false"', "")
    )
    graph = nx.read_graphml(io.BytesIO(text.encode()))
    found = formats.read(Source("x.graphml", text, "x"), Options())
    assert len(found.nodes) == graph.number_of_nodes() - ("9" in graph)
    ends = [each for each in graph.edges if each[0] != each[1] and "9" not in each[:2]]
    if graph.is_directed():
        assert {frozenset(each[:2]) for each in ends} == {
            frozenset((x.a, x.b)) for x in found.links
        }
    else:
        assert len(ends) == len(found.links)
    places = {
        (node["Longitude"], node["Latitude"])
        for node in dict(graph.nodes(data=True)).values()
        if "Longitude" in node and "Latitude" in node
    }
    assert {(node.at.x, node.at.y) for node in found.nodes if node.at} == places


@pytest.mark.parametrize("name", ["zoo", "yed"])
def test_gml_is_read_as_networkx_reads_it(name: str) -> None:
    """Nodes without an id and edges without an end go first; parallel edges are declared."""
    text = (SAMPLES / f"{name}.gml").read_text()
    usable = text.replace('node [ label "without an id" ]', "").replace("edge [ source 4 ]", "")
    usable = usable.replace("edge [ source 3 target 9 ]", "")
    usable = re.sub(r"(directed\s+[01])", r"\1 multigraph 1", usable)
    graph = nx.parse_gml(usable, label="id")
    found = formats.read(Source("x.gml", text, "x"), Options())
    nodes = {key: each for key, each in graph.nodes(data=True) if "isGroup" not in each}
    assert len(found.nodes) == len(nodes)
    pairs = [frozenset(each[:2]) for each in graph.edges if each[0] != each[1]]
    both = set(pairs) if graph.is_directed() else pairs
    assert len(both) == len(found.links)
    places = {
        (
            node.get("Longitude", node.get("graphics", {}).get("x")),
            node.get("Latitude", node.get("graphics", {}).get("y")),
        )
        for node in nodes.values()
    }
    usual = {place for place in places if all(isinstance(each, int | float) for each in place)}
    assert {(node.at.x, node.at.y) for node in found.nodes if node.at} == usual
    assert len(usual) >= 2


def test_characters_of_gml_may_be_written_as_entities() -> None:
    found = formats.read(read_source(SAMPLES / "zoo.gml"), Options())
    assert "München & Umland" in [node.label for node in found.nodes]


def test_a_great_circle_is_as_long_as_known() -> None:
    paris, new_york = Position(2.3522, 48.8566), Position(-74.006, 40.7128)
    assert great_circle_km(paris, new_york) == pytest.approx(5837, abs=1)
    assert great_circle_km(Position(0, 0), Position(180, 0)) == pytest.approx(math.pi * 6371)
    assert great_circle_km(paris, paris) == 0


def test_a_kilometre_may_take_longer() -> None:
    text = (SAMPLES / "small-sndlib.txt").read_text()
    usual, slow = (of_text(text, Options(km_delay=Duration(ns))) for ns in (5000, 10000))
    for one, other in zip(spec(usual).written.links, spec(slow).written.links, strict=True):
        assert one.delay is not None
        assert other.delay is not None
        assert int(other.delay) == pytest.approx(2 * int(one.delay), abs=2000)


def test_coordinates_of_a_plane_make_no_delays() -> None:
    text = (SAMPLES / "small-sndlib.txt").read_text()
    found = of_text(text, Options(coordinates=Coordinates.PLANE))
    assert all(link.delay is None for link in found.map.links)
    assert "x" in str(found.nodes["gdansk"]["at"])


def test_a_unit_that_is_said_is_taken() -> None:
    text = (SAMPLES / "small.brite").read_text()
    found = of_text(text, Options(delay_unit=Duration(1_000)))
    assert found.map.links[0].delay == 1255
    assert any("in 1us" in text for text in found.assumptions)


def test_both_forms_of_gt_itm_are_the_same_network() -> None:
    alt, gb = (
        imported(str(SAMPLES / f"small.{end}"), None, None, Options()) for end in ("alt", "gb")
    )
    assert alt.data == gb.data


def test_a_chain_of_arcs_that_is_a_circle_ends() -> None:
    text = (SAMPLES / "small.gb").read_text().replace("V2,0,19,30", "V2,A0,19,30", 1)
    found = of_text(text)
    assert [each.what for each in found.map.problems] == [
        "a circle of arcs: the vertex's further arcs are left out"
    ]


def test_both_forms_of_sndlib_are_the_same_network() -> None:
    one, other = (
        imported(str(SAMPLES / f"small-sndlib.{end}"), None, None, Options())
        for end in ("xml", "txt")
    )
    assert one.data == other.data


def test_xml_may_be_in_the_encoding_that_it_declares(tmp_path: Path) -> None:
    text = (SAMPLES / "small-sndlib.xml").read_text().replace("Krakow", "Kraków")
    (tmp_path / "latin.xml").write_bytes(text.encode("iso-8859-1"))
    found = imported(str(tmp_path / "latin.xml"), None, None, Options())
    assert [node.label for node in found.map.nodes] == ["Gdansk", "Warsaw", "Kraków"]
    (tmp_path / "other.xml").write_bytes(text.replace("ISO-8859-1", "UTF-8").encode("iso-8859-1"))
    with pytest.raises(BadInput, match="is not UTF-8"):
        imported(str(tmp_path / "other.xml"), None, None, Options())


def test_a_matrix_must_say_what_it_counts() -> None:
    with pytest.raises(BadInput, match="does not say what its delays are"):
        of_text(CLOUDS, Options())


def test_a_matrix_of_which_no_delay_can_be_read_is_one_line() -> None:
    with pytest.raises(BadInput, match=r"2: .*expected a delay.*1 more lines; .*no links") as found:
        of_text(",a,b\na,0,soon\nb,later,0\n", Options(one_way=True))
    assert len(str(found.value).splitlines()) == 1


def test_a_matrix_of_round_trips_is_halved() -> None:
    trips, one_way = (of_text(CLOUDS, Options(one_way=each)) for each in (False, True))
    assert trips.map.links[0].delay == 37_600_000
    assert one_way.map.links[0].delay == 75_200_000
    both = {link.name: (link.delay, link.delay_back) for link in one_way.map.links}
    assert both["apsout-useast"] == (190_000_000, 194_000_000)


@pytest.mark.parametrize("separator", [";", "\t"])
def test_a_matrix_of_a_spreadsheet(separator: str) -> None:
    text = CLOUDS.replace(",", separator)
    text = text.replace(".", ",") if separator == ";" else text
    assert of_text(text).data == of_text(CLOUDS).data


def test_a_star_of_a_matrix_that_is_one_has_its_delays() -> None:
    spokes = {"a": 3, "b": 5, "c": 11, "d": 20}
    text = ",".join(["", *spokes]) + "\n"
    for one, here in spokes.items():
        text += ",".join([one, *(str(here + there) for there in spokes.values())]) + "\n"
    found = of_text(text, Options(one_way=True, shape=Shape.STAR))
    assert {link.b: link.delay for link in found.map.links} == {
        name: ms * 10**6 for name, ms in spokes.items()
    }
    assert spec(found).nodes["core"].forwards
    assert any("the farthest off is" in text and "by 0ns" in text for text in found.assumptions)


def test_weights_may_be_left_aside() -> None:
    text = (SAMPLES / "small.alt").read_text()
    assert {row[-1] for row in links(of_text(text, Options(cost=Costs.HOPS)))} == {1}
    assert {row[-1] for row in links(of_text(text, Options(cost=Costs.DELAY)))} == {18, 19, 24, 25}


def test_capacities_may_be_enforced() -> None:
    text = (SAMPLES / "small.brite").read_text()
    found = spec(of_text(text, Options(rate=True)))
    assert [link.rate is not None for link in found.written.links] == [True, True, False]
    assert all(link.rate is None for link in spec(of_text(text)).written.links)


def test_a_delay_may_be_given_to_links_without_one() -> None:
    text = (SAMPLES / "small.cch").read_text()
    found = of_text(text, Options(delay=Duration(2_000_000)))
    assert {str(link.delay) for link in spec(found).written.links} == {"2ms"}


def test_a_kind_may_be_given() -> None:
    text = (SAMPLES / "small.cch").read_text()
    assert {node.kind for node in spec(of_text(text, Options(kind="lxc"))).nodes.values()} == {
        "lxc"
    }


def test_what_a_lab_file_refuses_is_refused_at_the_line_of_the_source() -> None:
    text = "a b 5\nb a 5\n"
    with pytest.raises(BadInput) as caught:
        of_text(text, latencies="a b 1\nb a 9e14\n")
    assert str(caught.value).startswith("weights.intra:1: ")


@pytest.mark.parametrize("form", formats.FORMATS)
def test_a_format_may_be_named(form: str) -> None:
    source = Source("x", "nothing of any format\n", "x")
    with pytest.raises(BadInput) as caught:
        formats.read(source, ROUND_TRIP, form)
    assert str(caught.value).startswith("x")


def test_a_format_that_is_none() -> None:
    with pytest.raises(BadInput, match=r"no format 'brite2'; did you mean 'brite'"):
        formats.read(Source("x", "", "x"), Options(), "brite2")


def test_a_lab_file_is_no_map(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("lab: x\nnodes: {a: {}}\n")
    with pytest.raises(BadInput, match="a lab file already"):
        formats.recognised(read_source(tmp_path / "x.yaml"))


def test_containers_keep_their_image_and_their_line() -> None:
    found = imported(str(SAMPLES / "lab.clab.yml"), None, None, Options())
    node = spec(found).nodes["client1"]
    assert (node.kind, node.model_dump()["image"]) == ("docker", "alpine:3.20")
    lost = {each.line for each in found.map.problems}
    lines = parse((SAMPLES / "lab.clab.yml").read_text(), "x").lines
    assert lines["topology", "nodes", "leaf1", "startup-config"] in lost


def test_a_guess_is_named_with_the_lines_that_do_not_fit() -> None:
    rows = "".join(f"r{i} r{i + 1} 5\n" for i in range(9))
    said = of_text(f"The routers\n{rows}").assumptions
    assert (
        "the format is a guess: rocketfuel; 1 of 10 lines looked at do not fit (--format)" in said
    )
    assert not any("guess" in each for each in of_text(rows, latencies=rows).assumptions)
    with pytest.raises(BadInput, match="9 of 11 lines fit rocketfuel, which is too few"):
        of_text(f"The routers\n{rows}and that is all\n")
    with pytest.raises(BadInput, match="8 of 9 lines fit rocketfuel, which is too few"):
        of_text(f"The routers\n{rows[8:]}")


def test_a_label_has_a_bound() -> None:
    text = GML_OF_TWO.format("x" * 100_000)
    assert max(len(node.label) for node in of_text(text).map.nodes) < 250


UNITS = """graph [ node [ id 0 ] node [ id 1 ] edge [ source 0 target 1
latency "{}" bw "{}" packet_loss {} jitter "{}" mtu 1400 color "red" ] ]"""


@pytest.mark.parametrize(
    ("delay", "rate", "loss", "jitter"),
    [
        ("50 ms", "1Gbps", "0.01", "2 ms"),
        ("50", "1000", "1.0e-2", "2"),
        ("0.05 s", "1000 Mbit/s", '"1%"', "2000us"),
        ("50msec", "125 MB/s", '"10000 ppm"', "2e6 ns"),
        ("0,050 s", "1000,0 Mbit/s", '"1,0%"', "2000,000us"),
    ],
)
def test_values_have_one_language(delay: str, rate: str, loss: str, jitter: str) -> None:
    found = of_text(UNITS.format(delay, rate, loss, jitter))
    assert found.links[0] == {
        "between": ["n0", "n1"],
        "name": "n0-n1",
        "mtu": 1400,
        "delay": "50ms",
        "jitter": "2ms",
        "loss": "1%",
        "bandwidth": "1Gbit",
    }
    assert "attributes of links that are not used: color" in found.assumptions


def test_a_value_of_an_unknown_unit_is_named() -> None:
    found = of_text(UNITS.format("5 parsec", "1 furlong", "30", "3.5.1"))
    said = {each.what.partition(", got ")[2] for each in found.map.problems}
    values = ("3.5.1", "30", "5 parsec", "1 furlong")
    assert said == {f"{value!r}: left out" for value in values}
    assert set(found.links[0]) == {"between", "name", "mtu"}


@pytest.mark.parametrize("text", ["1,500 ms", "12,345ms", "999,000"])
def test_a_comma_that_may_separate_thousands_is_named(text: str) -> None:
    found = of_text(UNITS.format(text, "1", "0", "0"))
    (problem,) = found.map.problems
    point, whole = (text.rstrip("ms ").replace(",", mark) for mark in (".", ""))
    expected = f"got {text!r}, which may be {point} or {whole}: left out"
    assert problem.what.endswith(expected)
    assert "delay" not in found.links[0]


@pytest.mark.parametrize("text", ["1,500,000 ms", "1,500.5 ms", "1.500,5 ms", ", ms"])
def test_two_marks_in_a_number_are_no_number(text: str) -> None:
    (problem,) = of_text(UNITS.format(text, "1", "0", "0")).map.problems
    assert problem.what.endswith(f"got {text!r}: left out")


def test_a_comma_in_a_matrix_is_read_as_elsewhere() -> None:
    semicolons = ";a;b;c\na;0;1,5;12,345\nb;1,5;0;3\nc;12,345;3;0\n"
    one_way = Options(one_way=True)
    assert {str(link["delay"]) for link in of_text(semicolons, one_way).links} == {
        "1.5ms",
        "12345us",
        "3ms",
    }
    found = of_text(semicolons.replace(";", "\t"), one_way)
    assert [each.what for each in found.map.problems] == [
        f"expected a delay to {end!r}, got '12,345', which may be 12.345 or 12345" for end in "ca"
    ]
    assert len(found.links) == 2


def test_other_formats_speak_it_too() -> None:
    text = (SAMPLES / "small.brite").read_text()
    delayed = re.sub(r"\t1\.25521\t", "\t1255.21us\t", text)
    assert delayed != text
    assert links(of_text(delayed)) == links(of_text(text))
    one = of_text("a b 1\nb a 1\n", latencies="a b 1500us\nb a 1.5\n")
    assert one.links[0]["delay"] == "1.5ms"


def test_a_hyperedge_is_a_lan() -> None:
    edges = "".join(f" edge [ source 9 target {i} latency 1 ]" for i in range(3))
    nodes = "".join(f' node [ id {i} label "r{i}" ]' for i in range(3))
    found = of_text(f'graph [{nodes} node [ id 9 label "LAN" hyperedge 1 ]{edges} ]')
    assert found.links == [{"join": ["r0", "r1", "r2"], "name": "lan", "delay": "2ms"}]
    assert set(spec(found).nodes) == {"r0", "r1", "r2"}
    unlike = of_text(f"graph [{nodes} node [ id 9 hyperedge 1 ]{edges.replace('y 1', 'y 3', 1)} ]")
    assert unlike.links[0]["delay"] == "4ms"
    assert any("LAN has links of different delays" in each for each in unlike.assumptions)


def test_the_second_fibre_of_a_pair_is_named() -> None:
    nodes = "".join(f" node [ id {i} ]" for i in range(4))
    pairs = ((0, 1), (1, 0), (1, 2), (2, 3))
    edges = "".join(f" edge [ source {a} target {b} ]" for a, b in pairs)
    found = of_text(f"graph [ directed 1{nodes}{edges} ]")
    assert len(found.links) == 3
    assert any("in both directions, unlike others" in each for each in found.assumptions)
