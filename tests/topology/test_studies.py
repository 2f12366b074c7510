"""Studies whose lab is a map or generated, and factors that vary it."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from delaylab.errors import BadInput
from delaylab.spec.source import Document, parse
from delaylab.topology.generators import GENERATORS
from delaylab.verbs.schema import schema
from delaylab_study.study_file.combine import combinations
from delaylab_study.study_file.load import study_from
from delaylab_study.study_file.maps import with_maps
from tests.command import delaylab
from tests.topology.maps import SAMPLES

SIZES = """\
study: sizes
lab: {generate: {line: {nodes: 3, delay: 1ms}}}
factors:
  routers:
    three: {}
    five: {lab: {generate: {line: {nodes: 5, delay: 2ms}}}}
    five-cut: {lab: {generate: {line: {nodes: 5}}}, links.r4-r5.delay: 3ms}
probe: {from: r1, to: r3}
"""


def study(text: str) -> Document:
    return with_maps(parse(text, "s.yaml", SAMPLES))


def test_a_factor_varies_the_number_of_routers() -> None:
    found = {
        each.levels["routers"]: each.lab for each in combinations(study_from(study(SIZES)), "quick")
    }
    assert {name: (len(lab.nodes), len(lab.links)) for name, lab in found.items()} == {
        "three": (3, 2),
        "five": (5, 4),
        "five-cut": (5, 4),
    }
    assert {str(link.delay) for link in found["five"].written.links} == {"2ms"}
    assert [str(link.delay) for link in found["five-cut"].written.links] == ["None"] * 3 + ["3ms"]


OF_PARAMETERS = """\
study: sizes
lab: {generate: {line: {nodes: 3, delay: 1ms}}}
factors:
  routers:
    three: {}
    five: {lab.generate.nodes: 5}
    far: {lab.generate.nodes: 4, lab.generate.delay: 7ms, links.r1-r2.delay: 3ms}
probe: {from: r1, to: r3}
"""


def labs_of(text: str) -> dict[str, list[str]]:
    """Return the delays of each level's links."""
    return {
        "/".join(each.levels.values()): [str(link.delay) for link in each.lab.written.links]
        for each in combinations(study_from(study(text)), "quick")
    }


def test_a_level_changes_a_parameter_of_the_generator() -> None:
    assert labs_of(OF_PARAMETERS) == {
        "three": ["1ms"] * 2,
        "five": ["1ms"] * 4,
        "far": ["3ms", "7ms", "7ms"],
    }


@pytest.mark.parametrize(
    "series", ["values: [3, 6, 9]", "range: {from: 3, to: 9, steps: 3}"], ids=["values", "range"]
)
def test_the_values_of_a_parameter_are_a_factor(series: str) -> None:
    head, _, tail = OF_PARAMETERS.partition("    three")
    text = f"{head}    set: lab.generate.nodes\n    {series}\n{tail[tail.index('probe') :]}"
    assert {name: len(links) for name, links in labs_of(text).items()} == {"3": 2, "6": 5, "9": 8}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("generate.nodes: 5", "generate.size: 5"), "s.yaml:6: a line has no 'size'"),
        (("generate.nodes: 5", "generate.nodes: 1"), "s.yaml:6: `nodes` of a line is a whole"),
        (
            ("lab: {generate: {line: {nodes: 3, delay: 1ms}}}", "lab: zoo.graphml"),
            "s.yaml:6: the study's `lab` is not generated",
        ),
        (
            ("{lab.generate.nodes: 5}", "{lab.generate.nodes: 5, lab: zoo.graphml}"),
            "s.yaml:6: the level has a `lab` of its own",
        ),
        (
            ("probe:", "  wide: {set: lab.generate.delay, values: [1ms, 2ms]}\nprobe:"),
            "s.yaml:8: factors 'routers' and 'wide' both change the generated network",
        ),
        (
            ("probe:", "  map: {one: {lab: zoo.graphml}, none: {}}\nprobe:"),
            "s.yaml:8: factors 'routers' and 'map' both change the generated network",
        ),
        (
            ("routers:", "wide: {set: lab.generate.nodes, values: [3, 3]}\n  routers:"),
            "two values are called '3'",
        ),
    ],
)
def test_a_parameter_that_cannot_be_changed_is_refused(change: tuple[str, str], says: str) -> None:
    with pytest.raises(BadInput) as caught:
        study(OF_PARAMETERS.replace(*change))
    assert says in str(caught.value)
    assert "s.yaml:" in str(caught.value)


GENERATED = jsonschema.Draft202012Validator(schema("study"))


@pytest.mark.parametrize(
    ("lab", "right"),
    [
        ({"generate": {"line": {"nodes": 3, "delay": "1ms..2ms", "seed": 4}}}, True),
        ({"generate": {"fat-tree": {"k": 4, "rate": "1Gbit", "cost": "delay"}}}, True),
        ({"generate": {"waxman": {"nodes": 9, "beta": 0.5}}}, True),
        ("topohub:backbone/europe", True),
        ({"lab": "x", "nodes": {"a": {}}}, True),
        ({"generate": {"line": {}}}, False),
        ({"generate": {"line": {"nodes": 1}}}, False),
        ({"generate": {"line": {"nodes": 3, "size": 3}}}, False),
        ({"generate": {"line": {"nodes": 3}, "ring": {"nodes": 3}}}, False),
        ({"generate": {"circle": {"nodes": 3}}}, False),
        ({"generate": {}}, False),
    ],
)
def test_the_schema_of_studies_knows_generated_labs(lab: object, right: bool) -> None:
    assert GENERATED.is_valid({"study": "s", "lab": lab}) == right


@pytest.mark.parametrize("shape", GENERATORS)
def test_the_schema_has_the_parameters_of_each_generator(shape: str) -> None:
    """A value that the schema allows is generated; one beyond its bounds is refused by both."""
    parameters = GENERATORS[shape].parameters
    sizes = {each.name: each.low if each.usual is None else each.usual for each in parameters}
    if shape == "barabasi-albert":
        sizes["nodes"] = 5
    given = {"study": "s", "lab": {"generate": {shape: sizes}}}
    assert GENERATED.is_valid(given)
    assert with_maps(Document("s.yaml", dict(given), {})).data != given
    for each in parameters:
        beyond = {"generate": {shape: {**sizes, each.name: each.high + 1}}}
        assert not GENERATED.is_valid({"study": "s", "lab": beyond})
        with pytest.raises(BadInput):
            with_maps(Document("s.yaml", {"study": "s", "lab": beyond}, {}))


def test_what_is_kept_of_a_study_needs_no_map() -> None:
    kept = json.loads(json.dumps(study(SIZES).data))
    again = study_from(Document("study.json", kept, {}))
    assert len(list(combinations(again, "quick"))) == 3


@pytest.mark.parametrize("lab", ["zoo.graphml", "rocketfuel", "topohub:sndlib/polska"])
def test_the_lab_of_a_study_may_be_a_map(lab: str) -> None:
    ends = {"zoo.graphml": "ljubljana, to: maribor", "rocketfuel": "paris1, to: rome2"}
    probe = ends.get(lab, "gdansk, to: krakow")
    text = f"study: s\nlab: {lab}\nprobe: {{from: {probe}}}\n"
    (found,) = combinations(study_from(study(text)), "quick")
    assert len(found.lab.links) >= 4


@pytest.mark.parametrize(
    ("lab", "says"),
    [
        ("{generate: {rin: {nodes: 3}}}", "s.yaml:2: no generator 'rin'"),
        ("{generate: {ring: {nodes: 2}}}", "s.yaml:2: `nodes` of a ring is a whole number from 3"),
        ("{generate: {ring: {nodes: 3, size: 1}}}", "s.yaml:2: a ring has no 'size'"),
        ("{generate: {}}", "s.yaml:2: `generate` has one shape"),
        ("{generate: {ring: {nodes: 3, seed: x}}}", "s.yaml:2: `seed` is a whole number"),
        ("{generate: {ring: {nodes: 3, cost: x}}}", "s.yaml:2: `cost` is hops or delay"),
        (
            "topohub:backbone/atlantis",
            "s.yaml:2: topohub:backbone/atlantis: topohub has no such map",
        ),
        ("clouds.csv", "does not say what its delays are"),
    ],
)
def test_what_is_no_map_is_refused_at_its_line(lab: str, says: str) -> None:
    with pytest.raises(BadInput) as caught:
        study(f"study: s\nlab: {lab}\nprobe: {{from: r1, to: r2}}\n")
    assert says in str(caught.value)
    assert str(caught.value).startswith("s.yaml:2: ")


def test_a_level_that_is_no_map_is_refused_at_its_line() -> None:
    with pytest.raises(BadInput, match=r"s\.yaml:6: the `lab` of a level is a map or a generator"):
        study(SIZES.replace("{generate: {line: {nodes: 5, delay: 2ms}}}", "{nodes: {}}"))


def test_a_lab_file_is_read_as_before(tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text(
        "lab: x\nnodes: {a: {}, b: {}}\nlinks: [{between: [a, b]}]\n"
    )
    for name, code in (("lab.yaml", 0), ("none.yaml", 2)):
        (tmp_path / "s.yaml").write_text(f"study: s\nlab: {name}\nprobe: {{from: a, to: b}}\n")
        done = delaylab("run", "--dry-run", "s.yaml", folder=tmp_path)
        assert done.code == code, done.err
        assert ("no lab file" in done.err) == (code == 2)


def test_a_study_of_a_generated_network_is_planned(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SIZES)
    done = delaylab("run", "--dry-run", "s.yaml", folder=tmp_path)
    assert done.code == 0, done.err
    assert "five-cut" in done.out
