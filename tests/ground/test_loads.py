"""What a study may say of loads: rates that are searched for, fields that other levels change."""

from __future__ import annotations

import pytest

from delaylab.errors import BadInput
from delaylab.spec.kinds import QemuNode
from delaylab.spec.source import parse
from delaylab.units import Size
from delaylab_study.study_file.combine import Combination, combinations
from delaylab_study.study_file.load import study_from
from delaylab_study.study_file.loads import CpuLoad, FramesLoad, HeldFramesLoad
from delaylab_study.study_file.scale import repeats

STUDY = """\
study: frames
lab: {lab: two, nodes: {a: {}, b: {}}, links: [{between: [a, b]}]}
factors:
  load:
    rest: []
    held: [{frames: held, on: a, to: b}, {cpu: 2, on: b}]
  size:
    small: {}
    large: {loads.frames.size: 1450}
probe: {from: a, to: b}
repeat: 2
scales: {paper: {repeat: 5}}
"""


def found(text: str, scale: str = "quick") -> dict[tuple[str, ...], Combination]:
    study = study_from(parse(text, "frames.yaml"))
    return {tuple(each.levels.values()): each for each in combinations(study, scale)}


def test_a_level_changes_the_loads_that_another_names() -> None:
    trials = found(STUDY)
    for size, expected in (("large", [1450]), ("small", [64])):
        sizes = [load.size for load in trials["held", size].loads if isinstance(load, FramesLoad)]
        assert sizes == expected
    assert trials["held", "large"].loads[1] == trials["held", "small"].loads[1]
    assert trials["rest", "large"].loads == ()


def test_a_level_has_loads_and_changes_something_else() -> None:
    trials = found(STUDY.replace("small: {}", "small: {loads: [{cpu: 1, on: a}], probe.count: 7}"))
    assert trials["rest", "small"].loads == (CpuLoad(cpu=1, on="a"),)
    assert [load.what for load in trials["held", "small"].loads] == ["frames", "cpu", "cpu"]
    probes = [trials["rest", size].probe for size in ("small", "large")]
    assert [probe.count for probe in probes if probe is not None] == [7, 200]


def test_a_rate_that_is_searched_for_is_held_to_the_papers_tolerance_and_sent_whole() -> None:
    load = found(STUDY)["held", "small"].loads[0]
    assert isinstance(load, HeldFramesLoad)
    assert (str(load.lost), str(load.at)) == ("0.05%", "100%")


@pytest.mark.parametrize(
    ("there", "instead", "why"),
    [
        ("loads.frames.size: 1450", "loads.frames.size: 10", "frames.yaml:9: size: Input should"),
        ("loads.frames.size: 1450", "loads.frame.size: 99", "frames.yaml:9: 'loads.frame.size'"),
        (
            "loads.frames.size: 1450",
            "loads.frames.sise: 99",
            "'loads.frames.sise' leads to nothing",
        ),
        ("small: {}", "small: {loads: {cpu: 1, on: a}}", "yaml:8: `loads` is a list of loads"),
        ("small: {}", "small: {loads: [{cpu: 0, on: a}]}", "frames.yaml:8: cpu: Input should be"),
        ("small: {}", "small: {loads: [{cpu: 1}]}", "frames.yaml:8: on: Field required"),
        ("small: {}", "small: {loads: [{cpu: 1, on: c}]}", "no node 'c'"),
        ("frames: held", "frames: 100, at: 50%", "only a load of `frames: held`"),
        ("frames: held", "frames: max, lost: 1%", "only a load of `frames: held`"),
        ("frames: held", "frames: held, at: 0%", "`at` is more than 0%"),
        ("frames: held", "frames: held, at: 1100%", "a multiple is at most 1000%"),
        ("frames: held", "frames: held, lost: 140%", "a share is at most 100%"),
        ("frames: held", "network: send, realtime: true", "only a load of frames"),
        ("frames: held", "requests: 0", "frames.yaml:6: requests: expected more than 0"),
        ("frames: held", "requests: 1e9", "frames.yaml:6: requests: expected at most 20"),
        ("frames: held", "frames: held, path: /", "only a load of `requests` has `path`"),
        ("frames: held", "requests: 9, size: 99", "only a load of frames has `size`"),
        ("frames: held", "requests: 9, path: x", "frames.yaml:6: path: "),
        ("frames: held", "requests: 9, port: 0", "frames.yaml:6: port: expected more than 0"),
        ("frames: held", "requests: 9, query: x", "only a load of requests of `protocol:` `dns`"),
        ("frames: held", "requests: 9, protocol: dns", "`query` is missing: the name that a load"),
        ("frames: held", "requests: 9, protocol: udp", "`payload` is missing: what a load of"),
        (
            "frames: held",
            "requests: 9, protocol: udp, payload: x",
            "`port` is missing: the one that the service listens at",
        ),
        ("frames: held", "requests: 9, late: 0s", "`late` is more than 0"),
        ("frames: held", "requests: 9, answered: 140%", "a share is at most 100%"),
        ("frames: held, on: a, to: b", "requests: 9, on: a, to: a", "`to` is another node"),
        ("frames: held, on: a, to: b", "requests: 9, on: a", "a load of network, frames or"),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(there: str, instead: str, why: str) -> None:
    with pytest.raises(BadInput) as caught:
        found(STUDY.replace(there, instead))
    assert why in str(caught.value)


def test_a_scale_says_how_often_it_repeats() -> None:
    study = study_from(parse(STUDY, "frames.yaml"))
    times = [repeats(study.spec, study.document, scale) for scale in ("quick", "paper")]
    assert times == [2, 5]


@pytest.mark.parametrize("wrong", ["0", "often", "true", "1.5"])
def test_a_scale_repeats_whole_times(wrong: str) -> None:
    text = STUDY.replace("repeat: 5", f"repeat: {wrong}")
    with pytest.raises(BadInput, match="is not 1 or more"):
        found(text, "paper")


def test_no_level_changes_another() -> None:
    """A level that gives a whole node is what it says, also after one that changes its memory."""
    text = """
study: s
lab: {lab: l, hosts: {any: {}}, nodes: {a: {host: any}, b: {host: any}}, links: [{join: [a, b]}]}
factors:
  kind: {vm: {nodes.a: {kind: qemu, host: any}}}
  memory: {large: {nodes.a.memory: 512MiB}, usual: {}}
probe: {from: a, to: b}
"""
    study = study_from(parse(text, "study.yaml"))
    large, usual = combinations(study, "quick")
    memories = [
        node.memory for made in (large, usual) if isinstance(node := made.lab.nodes["a"], QemuNode)
    ]
    assert memories == [Size.parse("512MiB"), None]
    assert study.spec.factors["kind"]["vm"] == {"nodes.a": {"kind": "qemu", "host": "any"}}
