"""Maps of strangers: deep, huge, circular, binary, truncated, in a wrong encoding."""

from __future__ import annotations

import gzip
from pathlib import Path

from tests.hostile.cases import Build, Case

GRAPHML = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{}</graphml>'
GML = "graph [\n  node [ id 0 ]\n  node [ id 1 ]\n  edge [ source 0 target 1 ]\n]\n"
TWO = '<graph><node id="a"/><node id="b"/><edge source="a" target="b"/></graph>'
LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE graphml [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(9))
    + "]>"
)
OUTSIDE = '<!DOCTYPE graphml [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
GB = "* GraphBase graph (util_types ZZZIIZIZZZZZZZ,1V,1A)\n"
MATRIX = ",a,b,c\na,0,1,2\nb,1,0,3\nc,2,3,0\n"
CLAB = "name: x\ntopology:\n  nodes: {a: {kind: linux, image: x}, b: {kind: linux, image: x}}\n"
MANY_LAYERS = "topology:\n  defaults:\n    env:\n{}  nodes:\n{}".format(
    "".join(f"      v{i}: x\n" for i in range(2000)),
    "".join(f"    n{i}: {{image: x}}\n" for i in range(1000)),
)
"""A topology whose few lines say two million values."""


def source(text: str | bytes, *options: str, name: str = "map") -> Build:
    def build(folder: Path) -> list[str]:
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return ["import", *options, str(folder / name)]

    return build


def of(*words: str) -> Build:
    return lambda _: ["import", *words]


def rows(pattern: str, number: int) -> str:
    return "".join(pattern.format(i) for i in range(number))


MAPS = [
    Case("maps/empty", "no format of maps is recognised", source("")),
    Case("maps/byte-order-mark-alone", "no format of maps", source("\ufeff")),
    Case("maps/newlines", "more than 500000 lines", source("\n" * (15 << 20))),
    Case(
        "maps/lines-of-nothing",
        "there are no nodes",
        source("Topology: ( )\nNodes: ( 1 )\n" + "x\n" * 499_000),
    ),
    Case("maps/spaces", "no format of maps", source(" " * (15 << 20))),
    Case("maps/one-long-word", "no format of maps", source("x" * (15 << 20))),
    Case(
        "maps/letter",
        "1 of 2 lines fit rocketfuel, which is too few",
        source("Dear Sir\nchapter two 7\n"),
    ),
    Case("maps/inet", "no format of maps", source("2 1\n0 10 20\n1 30 40\n0 1 36\n")),
    Case(
        "maps/repetita",
        "5 lines do not fit, 2 do",
        source(
            "NODES 2\nlabel x y\nn0 0 0\nn1 1 1\nEDGES 2\nlabel src dest\ne0 0 1 1 1000 5\n",
            "--format",
            "rocketfuel",
        ),
    ),
    Case(
        "maps/prose-with-a-lab",
        "no format of maps",
        source("# A page\nSome text goes here.\nlab: a\nIt goes on, and on.\n"),
    ),
    Case(
        "maps/prose-with-a-topology",
        "no format of maps",
        source("A page\nSome text goes here.\ntopology:\n  nodes: {}\nIt goes on.\n"),
    ),
    Case(
        "maps/more-wrong-than-right",
        "3 lines do not fit, 2 do",
        source("1|2|-1\nx\ny\nz\n3|4|0\n", "--format", "caida"),
    ),
    Case("maps/cch-of-spaces", "no format of maps", source("1 @x" + " " * 1_000_000 + "z\n")),
    Case(
        "maps/rocketfuel-of-digits",
        "no format of maps",
        source("a," + "9" * 2_000_000 + "x b 1\n"),
    ),
    Case(
        "maps/gb-field-of-ages",
        "fields that cannot be read (field larger than field limit",
        source(GB + '* Vertices\n"' + "x" * 140_000 + '",0\n'),
    ),
    Case(
        "maps/matrix-field-of-ages",
        "not CSV: field larger than field limit",
        source(MATRIX + '"' + "x" * 140_000 + '",0\n', "--one-way", "--format", "matrix"),
    ),
    Case(
        "maps/gml-entity-of-ages",
        "there are no nodes",
        source(f'graph [ label "&#{"9" * 5000};" ]'),
    ),
    Case("maps/prose", "no format of maps", source("This is a map.\nIt is of no format.\n")),
    Case("maps/bytes", "larger than 16 MiB", source(b"a b 1\n" * (3 << 20))),
    Case("maps/device", "larger than 16 MiB", of("/dev/zero")),
    Case("maps/missing", "no such file", of("/nowhere/map")),
    Case("maps/folder", "no map is in this folder", lambda folder: ["import", str(folder)]),
    Case("maps/nulls", "no format of maps", source(b"\0" * 100_000)),
    Case("maps/program", "is not UTF-8", source(b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 99)),
    Case("maps/gzip", "is not UTF-8", source(gzip.compress(GRAPHML.format(TWO).encode()))),
    Case("maps/utf-16", "is not UTF-8", source(GRAPHML.format(TWO).encode("utf-16"))),
    Case("maps/latin-1", "is not UTF-8", source("São-Paulo Málaga 5\n".encode("latin-1"))),
    Case(
        "maps/utf-16-that-says-utf-8",
        "no format of maps",
        source(GRAPHML.format(TWO).encode("utf-16-le").replace(b"\xff", b"")),
    ),
    Case("maps/lab-file", "a lab file already", source("lab: a\nnodes: {a: {}}\n")),
    Case("maps/xml-laughs", "a DOCTYPE", source(LAUGHS + GRAPHML.format("&j;"))),
    Case("maps/xml-outside", "a DOCTYPE", source(OUTSIDE + GRAPHML.format("&x;"))),
    Case("maps/xml-unknown-entity", "not XML: undefined entity", source(GRAPHML.format("&x;"))),
    Case("maps/xml-deep", "nested more than 50 deep", source("<graphml>" + "<graph>" * 100_000)),
    Case("maps/xml-wide", "more than 250000 elements", source(GRAPHML.format("<a/>" * 260_000))),
    Case("maps/xml-truncated", "not XML: ", source(GRAPHML.format(TWO)[:-20])),
    Case("maps/xml-other-root", "not <graphml>", source("<x><graphml/></x>")),
    Case("maps/xml-no-graph", "there are no nodes", source(GRAPHML.format(""))),
    Case(
        "maps/xml-no-ids", "a node without an id", source(GRAPHML.format("<graph><node/></graph>"))
    ),
    Case("maps/xml-null", "not XML: not well-formed", source(GRAPHML.format("\0"))),
    Case("maps/xml-many-attributes", "not XML", source("<graphml " + 'a="1" ' * 1000 + "/>")),
    Case(
        "maps/xml-groups-in-groups",
        "nested more than 50 deep",
        source(GRAPHML.format('<graph><node id="a">' * 1000)),
    ),
    Case("maps/gml-truncated", "map:1: not GML: the list 'graph' has no end", source(GML[:-2])),
    Case(
        "maps/gml-cut-in-a-value",
        "map:3: not GML: 'id' has no value",
        source("graph [\n  node [\n    id ]"),
    ),
    Case(
        "maps/gml-open-quote",
        "map:2: not GML: 'label' has no value",
        source('graph [\n  label "' + "x\n" * 400_000),
    ),
    Case("maps/gml-two-ends", "expected a key, got ']", source(GML + "]\n")),
    Case("maps/gml-binary", "not GML", source(GML.encode() + bytes(range(128)))),
    Case("maps/gml-deep", "nested more than 50 deep", source("graph [" + "a [" * 1_000_000)),
    Case("maps/gml-wide", "more than 250000 values", source("graph [" + "a 1 " * 2_000_000)),
    Case(
        "maps/gml-comments",
        "there are no nodes",
        source("#\n" * 499_000 + "graph [ ]", "--format", "gml"),
    ),
    Case("maps/gml-no-nodes", "there are no nodes", source("graph [ ]")),
    Case("maps/gml-no-ids", "a node without an id", source('graph [ node [ label "a" ] ]')),
    Case(
        "maps/gml-of-too-many-nodes",
        "more than 10000 nodes",
        source("graph [" + rows(" node [ id {0} ]", 10_001) + " ]"),
    ),
    Case("maps/gml-latin-1", "is not UTF-8", source(GML.replace("0", '"ü"').encode("latin-1"))),
    Case("maps/sndlib-laughs", "a DOCTYPE", source(LAUGHS + "<network/>")),
    Case("maps/sndlib-empty", "expected <network>", source("<network/>")),
    Case(
        "maps/sndlib-no-nodes",
        "there are no nodes",
        source("<network><networkStructure/></network>"),
    ),
    Case(
        "maps/sndlib-native-truncated",
        "there are no nodes",
        source("?SNDlib native format; type: network; version: 1.0\nNODES (\n Gdansk ( 18.6"),
    ),
    Case("maps/brite-no-nodes", "there are no nodes", source("Topology: ( 1 Nodes, 1 Edges )\n")),
    Case(
        "maps/brite-words-for-numbers",
        "not one of the nodes: 'one 2 3', and 1 more lines",
        source("Topology: ( 1 Nodes )\nNodes: ( 1 )\none 2 3\n1 nan 3\n"),
    ),
    Case(
        "maps/brite-of-too-many-nodes",
        "more than 10000 nodes",
        source("Topology: ( )\nNodes: ( 9 )\n" + rows("{0} 1 1 1 1 1 RT_NODE\n", 10_001)),
    ),
    Case(
        "maps/brite-escape",
        "not one of the nodes",
        source("Topology: ( )\nNodes: ( 1 )\n\x1b]0;x\x07 1 1\n"),
    ),
    Case(
        "maps/alt-no-vertices", "there are no nodes", source("GRAPH (#nodes #edges id):\n4 8 x\n")
    ),
    Case("maps/gb-no-vertices", "there are no nodes", source(GB)),
    Case("maps/gb-open-quote", "there are no nodes", source(GB + "* Vertices\n" + "\\\n" * 10_000)),
    Case("maps/cch-nothing-but-outside", "there are no nodes", source("-1 =192.0.2.1 r1\n")),
    Case(
        "maps/cch-of-too-many-links",
        "more than 10000 links",
        source("1 @X (1) -> " + "<2> " * 50_000 + "=x r0\n"),
    ),
    Case(
        "maps/as-rel-of-everything", "more than 10000 nodes", source(rows("1|{0}9|-1\n", 500_000))
    ),
    Case("maps/as-links-of-sets", "an end is a set", source("D\t1_2\t{3,4}\t1\n")),
    Case("maps/rocketfuel-of-too-many-links", "10000", source(rows("a{0} b{0} 1\n", 200_000))),
    Case("maps/rocketfuel-negative", "expected `node node number`", source("a b -5\nb a -5\n")),
    Case(
        "maps/rocketfuel-delay-of-ages",
        "delay",
        lambda folder: [
            *source("a b 1e18\nb a 1e18\n", name="latencies.intra")(folder),
        ],
    ),
    Case("maps/matrix-unsaid", "does not say what its delays are", source(MATRIX)),
    Case(
        "maps/matrix-name-twice",
        "names 'a' twice",
        source(MATRIX.replace(",c\n", ",a\n"), "--one-way", "--format", "matrix"),
    ),
    Case(
        "maps/matrix-too-wide",
        "names, which is too many",
        source("," + ",".join(f"n{i}" for i in range(100_000)) + "\nn0,1\n", "--one-way"),
    ),
    Case("maps/matrix-of-quotes", "no format of maps", source('",a,b,c\na,0,1,2\n', "--one-way")),
    Case(
        "maps/star-of-nothing",
        "there is no delay in the matrix",
        source(",a,b\na,,\nb,,\n", "--one-way", "--as", "star"),
    ),
    Case("maps/clab-no-nodes", "the topology has no nodes", source("name: x\ntopology: {a: 1}\n")),
    Case("maps/clab-of-a-list", "expected `topology:`", source("name: x\ntopology: [1]\n")),
    Case("maps/clab-laughs", "something that it is in", source(CLAB + "x: &a [*a]\n")),
    Case("maps/clab-deep", "nested more than", source("topology: " + "[" * 100_000)),
    Case(
        "maps/clab-open-quotes",
        "not YAML",
        source(CLAB.replace("image: x}", 'image: x, env: {"A: c}}', 1)),
    ),
    Case("maps/clab-template", "it is a template", source(CLAB + "{{ if a }}\n")),
    Case("maps/clab-many-values", "values, layers written out", source(MANY_LAYERS)),
    Case(
        "maps/clab-no-nodes-of-its-own",
        "all nodes are bridges, or parts of the machine",
        source("topology: {nodes: {a: {kind: host}, b: {kind: bridge}}}\n"),
    ),
    Case("maps/topohub-path", "names no map", of("topohub:../../../etc/passwd")),
    Case("maps/topohub-dots", "names no map", of("topohub:backbone/..")),
    Case("maps/topohub-nothing", "names no map", of("topohub:")),
    Case("maps/topohub-unknown", "topohub", of("topohub:backbone/atlantis")),
    Case("maps/name", "is no name of a lab", source("a b 1\n", "--name", "A B")),
    Case("maps/format", "no format 'x'", source("a b 1\n", "--format", "x")),
    Case("maps/kind", "no kind 'vax'", source("a b 1\nb a 1\n", "--kind", "vax")),
    Case("maps/km-delay", "--km-delay: expected a duration", source("a b 1\n", "--km-delay", "5")),
]
