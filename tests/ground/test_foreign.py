"""Files of other tools are recognised, and errors never show the validator's insides."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from delaylab.errors import BadInput
from delaylab.resolve.load import lab_from
from delaylab.spec.source import Document, parse
from delaylab_study.study_file.load import study_from

EXAMPLES = sorted(Path(__file__).parents[2].glob("examples/**/*.yaml"))
WRONG: tuple[object, ...] = (
    None,
    True,
    -1,
    1.5,
    10**30,
    "A b",
    "x" * 5000,
    [],
    [1],
    [[]],
    {},
    {"quux": 1},
)
INSIDES = re.compile(
    r"function-|input should|valid (list|dict|string|tuple|int)|Spec\b|something else|\[key\]",
    re.IGNORECASE,
)
CLAB = "name: two\ntopology:\n  nodes: {a: {kind: linux}}\n"
NETLAB = "defaults.device: frr\nmodule: [ospf]\nnodes: [r1, r2]\nlinks: [r1-r2]\n"
COMPOSE = "services:\n  web: {image: nginx}\n"
MANIFEST = "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n"
GRAPHML = '<?xml version="1.0"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
GNS3 = '{"name": "x", "project_id": "0", "topology": {"nodes": []}, "type": "topology"}\n'


@pytest.mark.parametrize("read", [lab_from, study_from])
@pytest.mark.parametrize(
    ("text", "what"),
    [
        (CLAB, "a containerlab topology"),
        (NETLAB, "a netlab topology"),
        (COMPOSE, "a Compose file"),
        (MANIFEST, "a Kubernetes manifest"),
        (GNS3, "a project of GNS3"),
        (GRAPHML, "a GraphML file"),
        ("\ufeff" + GRAPHML, "a GraphML file"),
        ("graph [\n  node [ id 0 ]\n]\n", "a GML file"),
        ("Topology: ( 20 Nodes, 37 Edges )\nModel (1 - RTWaxman): 20 ...\n", "a BRITE topology"),
    ],
)
def test_a_file_of_another_tool_is_named(read: object, text: str, what: str) -> None:
    assert callable(read)
    with pytest.raises(BadInput) as caught:
        read(parse(text, "file"))
    (error,) = caught.value.all
    assert str(error).startswith(f"file:1: this is {what}, not a file of delaylab (")


@pytest.mark.parametrize(
    "text", [CLAB, GRAPHML, "graph [\n]\n", "Topology: ( 20 Nodes )\n", "<network/>"]
)
def test_of_a_map_the_import_is_named(text: str) -> None:
    with pytest.raises(BadInput, match=r"make a lab file of it: delaylab import x -o lab\.yaml"):
        lab_from(parse(text, "x"))


def test_a_study_without_its_name_is_known_as_one() -> None:
    text = "lab: {lab: x, nodes: {a: {}, b: {}}}\nprobe: {from: a, to: b}\n"
    with pytest.raises(BadInput) as caught:
        lab_from(parse(text, "s.yaml"))
    assert str(caught.value) == (
        "s.yaml:2: this is a study; a lab file was wanted (delaylab run s.yaml)"
    )


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_no_error_shows_insides(path: Path) -> None:
    document = parse(path.read_text(), path.name, path.parent)
    refused = 0
    for at, wrong in ((at, wrong) for at in places(document.data) for wrong in WRONG):
        changed = Document(
            document.name, put(document.data, at, wrong), document.lines, document.folder
        )
        try:
            (lab_from if "nodes" in document.data else study_from)(changed)
        except BadInput as error:
            refused += 1
            for each in error.all:
                assert not INSIDES.search(each.what), (at, wrong, str(each))
                assert "\n" not in str(each)
    assert refused


def places(data: object) -> Iterator[tuple[str | int, ...]]:
    """Yield the place of every part of parsed data."""
    yield ()
    items: list[tuple[str | int, object]] = []
    if isinstance(data, dict):
        items = list(data.items())
    if isinstance(data, list):
        items = list(enumerate(data))
    for key, value in items:
        yield from ((key, *rest) for rest in places(value))


def put(data: object, at: tuple[str | int, ...], value: object) -> object:
    """Return data with another value at a place."""
    if not at:
        return value
    key, rest = at[0], at[1:]
    if isinstance(data, dict):
        return {**data, key: put(data[key], rest, value)}
    assert isinstance(data, list)
    assert isinstance(key, int)
    return [*data[:key], put(data[key], rest, value), *data[key + 1 :]]
