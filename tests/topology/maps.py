"""Samples of every format, and imports of them."""

from __future__ import annotations

from pathlib import Path

from delaylab.resolve.lab import Lab
from delaylab.resolve.load import lab_from
from delaylab.spec.source import parse
from delaylab.topology import formats
from delaylab.topology.lab import MapLab
from delaylab.topology.options import Options
from delaylab.topology.source import Source
from delaylab.topology.text import text_of
from delaylab.verbs.maps import checked

SAMPLES = Path(__file__).parent / "samples"
GOLDEN = Path(__file__).parent / "golden"
ROUND_TRIP = Options(one_way=False)
FORMAT_OF = {
    "as-links.txt": "caida",
    "as-rel.txt": "caida",
    "clouds.csv": "matrix",
    "directed.graphml": "graphml",
    "kathara": "kathara",
    "lab.netlab.yml": "netlab",
    "lab.clab.yml": "containerlab",
    "rocketfuel": "rocketfuel",
    "small-sndlib.txt": "sndlib",
    "small-sndlib.xml": "sndlib-xml",
    "small.alt": "gtitm-alt",
    "small.brite": "brite",
    "small.cch": "cch",
    "small.gb": "gtitm-gb",
    "yed.gml": "gml",
    "yed.graphml": "graphml",
    "zoo.gml": "gml",
    "zoo.graphml": "graphml",
}
"""Each sample, made for these tests -> its format."""


def of_text(
    text: str, options: Options = ROUND_TRIP, *, latencies: str | None = None, name: str = "map"
) -> MapLab:
    """Return the lab of a source's text."""
    beside = () if latencies is None else (Source("latencies.intra", latencies, name),)
    found = formats.read(Source("weights.intra" if beside else name, text, name, beside), options)
    return checked(found, None, options)


def spec(found: MapLab) -> Lab:
    """Return the lab of the file that an import writes."""
    return lab_from(parse(text_of(found), "made.yaml"))


Links = list[tuple[str, str, str, str, str, int]]


def links(found: MapLab) -> Links:
    """Return the links by the labels of their ends, in an order of their own."""
    label = {node.name: node.label or node.name for node in found.map.nodes}
    rows = []
    for link in spec(found).written.links:
        a, b = link.members
        back = link.sent_from[b].delay if b in link.sent_from else link.delay
        ends = [(label[a], str(link.delay)), (label[b], str(back))]
        (one, there), (other, here) = sorted(ends)
        rows.append((one, other, there, here, str(link.bandwidth), link.cost_of(a)))
    return sorted(rows)
