"""Files: what is right is read as meant, what is wrong is refused with its file and line."""

import json
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from delaylab.errors import BadInput
from delaylab.resolve.load import lab_from
from delaylab.resolve.resolve import lab_from_data
from delaylab.spec.kinds import FACTS
from delaylab.spec.source import parse
from delaylab.units import Duration
from delaylab_study.papers.studies import find, names
from delaylab_study.study_file.combine import combinations
from delaylab_study.study_file.load import load_study, study_from
from delaylab_study.study_file.loads import LoadSpec
from delaylab_study.study_file.probe import ClosedLoop, ProbeSpec

LAB = """\
lab: testbed
hosts: {sut: {}, target: {}}
nodes:
  probe: {kind: netns, host: sut, cpus: [1]}
  noisy: {kind: netns, host: sut}
  echo: {kind: native, host: target}
links:
  - join: [probe, noisy, echo]
    name: lan
  - between: [probe, echo]
"""
STUDY = find("quickstart").read_text()


def test_a_lab_is_read_as_written() -> None:
    lab = lab_from(parse(LAB, "lab.yaml"))
    assert list(lab.nodes) == ["probe", "noisy", "echo"]
    assert lab.nodes["probe"].cpus == [1]
    assert lab.written.links[0].members == ["probe", "noisy", "echo"]
    assert lab.written.links[1].members == ["probe", "echo"]


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("name: lan", "nme: lan", 9, "unknown field 'nme'; did you mean 'name'?"),
        ("cpus: [1]", "cpu: [1]", 4, "unknown field 'cpu'; did you mean 'cpus'?"),
        ("host: target", "host: taget", 6, "no host 'taget' (hosts: sut, target)"),
        ("join: [probe, noisy", "join: [probe, nosy", 8, "joins 'nosy', which is not a node"),
        ("join: [probe, noisy, echo]", "join: [probe, probe]", 8, "with itself"),
        (
            "kind: netns, host: sut}",
            "host: sut, kind: vmware}",
            5,
            f"kind: expected {', '.join(map(repr, [*FACTS][:-1]))} or {[*FACTS][-1]!r}, got",
        ),
        ("kind: netns, host: sut}", "kind: netns}", 5, "node 'noisy' has no host"),
        (
            "kind: netns, host: sut}",
            "scratch: true, host: sut}",
            5,
            "means nothing to kind 'netns'",
        ),
        ("between: [probe, echo]", "between: [probe]", 10, "between"),
        ("lab: testbed", "lab: Test Bed", 1, "lab: expected a name of lower-case letters"),
        ("nodes:", "nodes: {}\nnods:", 4, "unknown field 'nods'; did you mean 'nodes'?"),
        ("lab: testbed", "lab: testbed\nlab: other", 2, "'lab' is there twice"),
        ("links:", "links: [", 8, "not YAML"),
    ],
)
def test_a_wrong_lab_is_refused_with_its_line(old: str, new: str, line: int, says: str) -> None:
    text = LAB.replace(old, new, 1)
    assert text != LAB
    with pytest.raises(BadInput) as caught:
        lab_from(parse(text, "lab.yaml"))
    told = [str(error) for error in caught.value.all]
    assert [each for each in told if each.startswith(f"lab.yaml:{line}: ") and says in each]
    assert "\n" not in "".join(told)


FIELDS = """\
lab: bad
name: x
nodes:
  a: {kind: netnss}
  b: {cpu: [1], count: x}
links:
  - {between: [a, b], loss: 1, delay: 5}
  - {betwen: [a, b]}
"""
NAMES = """\
lab: bad
nodes:
  a: {host: h}
  b: {}
links:
  - {between: [a, c]}
  - {join: [a, a]}
"""
ADDRESSES = """\
lab: bad
nodes: {a: {}, b: {}}
links:
  - {between: [a, b], addresses: {a: 10.0.0.1/24}}
  - {between: [a, b], reorder: 1%}
timeline:
  - {at: 1s, link: lonk, set: {delay: 1ms}}
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            FIELDS,
            [
                "2: 'name' is not allowed here",
                "4: kind: expected",
                "5: unknown field 'cpu'; did you mean 'cpus'?",
                "5: count: expected a whole number",
                "7: delay: expected a duration such as 250ms, got 5",
                "7: loss.share: 1 is 100 %; write 1% or 100%",
                "8: unknown field 'betwen'; did you mean 'between'?",
            ],
        ),
        (
            NAMES,
            ["3: no host 'h'", "6: the link joins 'c', which", "7: the link joins 'a' with itself"],
        ),
        (
            ADDRESSES,
            ["4: the link gives addresses but none for 'b'", "5: what 'a' sends:", "7: no link"],
        ),
    ],
)
def test_all_errors_of_a_file_are_told_in_its_order(text: str, told: list[str]) -> None:
    with pytest.raises(BadInput) as caught:
        lab_from(parse(text, "lab.yaml"))
    found = [str(error).removeprefix("lab.yaml:") for error in caught.value.all]
    assert len(found) == len(told)
    assert [each[: len(said)] for each, said in zip(found, told, strict=True)] == told


@pytest.mark.parametrize(
    ("addresses", "says"),
    [
        ("{probe: 10.1.0.1/24, echo: 10.1.0.1/24}", "both have the address 10.1.0.1"),
        ("{probe: 10.1.0.1, echo: 10.1.0.300/24}", "'10.1.0.300/24' is not an address"),
        ("{probe: 10.1.0.1/24, echo: 10.2.0.1/24}", "10.2.0.0/24"),
        ("{probe: 10.1.0.1/24}", "none for 'echo'"),
        ("{probe: 10.1.0.1/24, noisy: 10.1.0.2/24}", "'noisy', which is not on this link"),
    ],
)
def test_wrong_addresses_are_refused(addresses: str, says: str) -> None:
    text = LAB + f"    addresses: {addresses}\n"
    with pytest.raises(BadInput) as caught:
        lab_from(parse(text, "lab.yaml"))
    assert str(caught.value).startswith("lab.yaml:11: ")
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("count: 400", "cuont: 400", "unknown field 'cuont'; did you mean 'count'?"),
        (
            "nodes.probe.kind: native",
            "nodes.prob.kind: native",
            "'nodes.prob.kind' leads to nothing",
        ),
        ("from: probe", "from: prob", "no node 'prob'"),
        ("on: noisy}]", "on: nosy}]", "no node 'nosy'"),
        ("cpu: 2, on", "cpu: 2, io: 1, on", "a load is exactly one of"),
        (
            "{network: both-ways, on: noisy, to: echo}",
            "{network: both-ways, on: noisy}",
            "needs `to`",
        ),
        ("interval: 10ms", "interval: 10", "expected a duration such as 250ms"),
        ("protocol: icmp", "protocol: icmp, ip: 6", "the lab has none"),
        ("rate: 100Mbit", "rate: 100MB", "expected a rate such as 100Mbit"),
    ],
)
def test_a_wrong_study_is_refused(old: str, new: str, says: str) -> None:
    text = STUDY.replace(old, new, 1)
    assert text != STUDY
    with pytest.raises(BadInput) as caught:
        list(combinations(study_from(parse(text, "study.yaml")), "quick"))
    assert says in str(caught.value)
    assert str(caught.value).startswith("study.yaml:")


def test_a_scale_that_is_not_there_names_those_that_are() -> None:
    with pytest.raises(BadInput, match="scales: quick, paper"):
        list(combinations(study_from(parse(STUDY, "study.yaml")), "huge"))


def at_scale(more: str, scale: str = "small") -> list[dict[str, str]]:
    text = STUDY.replace("scales:\n", f"scales:\n  small:\n{more}", 1)
    found = combinations(study_from(parse(text, "study.yaml")), scale)
    return [combination.levels for combination in found]


def test_a_scale_may_run_blocks_of_levels_instead_of_all() -> None:
    design = "    design: [{environment: [netns]}, {load: [rest]}]\n"
    assert at_scale(design) == [
        {"environment": "native", "load": "rest"},
        {"environment": "netns", "load": "rest"},
        {"environment": "netns", "load": "cpu"},
        {"environment": "netns", "load": "network"},
    ]
    assert len(at_scale(design, "paper")) == 6


def test_a_scale_may_say_a_level_anew() -> None:
    text = STUDY.replace(
        "scales:\n", "scales:\n  small: {factors.load.cpu: [{cpu: 1, on: noisy}]}\n", 1
    )
    study = study_from(parse(text, "study.yaml"))
    amounts = {
        scale: {load.amount for each in combinations(study, scale) for load in each.loads}
        for scale in ("small", "paper")
    }
    assert amounts == {"small": {"both-ways", 1}, "paper": {"both-ways", 2}}


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("    design: [{load: [hurricane]}]\n", "no level 'hurricane'"),
        ("    design: [{loud: [cpu]}]\n", "no factor 'loud'"),
        ("    design: [cpu]\n", "a design is a list of blocks"),
        ("    factors.load.gpu: []\n", "no level 'gpu'"),
        ("    factors.load.cpu: [{gpu: 1, on: noisy}]\n", "unknown field 'gpu'"),
    ],
)
def test_a_scale_that_cannot_be_is_refused_with_its_line(more: str, says: str) -> None:
    with pytest.raises(BadInput, match=says) as caught:
        at_scale(more)
    assert str(caught.value).startswith("study.yaml:")


def test_yaml_words_for_truth_stay_words() -> None:
    assert parse("{on: off, yes: no, date: 2020-01-01}", "x").data == {
        "on": "off",
        "yes": "no",
        "date": "2020-01-01",
    }


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("scale", ["quick", "paper"])
def test_every_shipped_study_has_only_combinations_that_can_be(name: str, scale: str) -> None:
    study = load_study(find(name))
    made = list(combinations(study, scale))
    expected = 1
    for levels in study.spec.factors.values():
        expected *= len(levels)
    assert len({tuple(each.levels.values()) for each in made}) == len(made)
    if "design" in study.spec.scales.get(scale, {}):
        assert 0 < len(made) < expected
    else:
        assert len(made) == expected


def test_the_paper_scale_is_the_papers() -> None:
    for combination in combinations(load_study(find("whiteaker2011")), "paper"):
        assert combination.probe is not None
        assert combination.probe.count == 200
        assert combination.probe.pace == Duration(250_000_000)
        assert combination.probe.size == 100


def test_a_level_may_set_a_setting_of_the_kernel_whose_name_has_dots() -> None:
    limit = "net.ipv4.tcp_limit_output_bytes"
    level = f"  limit:\n    own: {{}}\n    small: {{sysctls.{limit}: 4096}}\n"
    found = combinations(
        study_from(parse(STUDY.replace("factors:\n", f"factors:\n{level}"), "s.yaml")), "quick"
    )
    assert {each.levels["limit"]: each.lab.sysctls for each in found} == {
        "own": {},
        "small": {limit: "4096"},
    }
    wrong = STUDY.replace("factors:\n", f"factors:\n{level.replace('bytes', 'bites')}")
    with pytest.raises(BadInput, match=rf"did you mean '{limit}'\?"):
        list(combinations(study_from(parse(wrong, "s.yaml")), "quick"))


@pytest.mark.parametrize(("given", "timeout_ns"), [({}, 10**9), ({"timeout": "10ms"}, 10**7)])
def test_a_closed_loop_is_read_with_its_timeout(given: dict[str, str], timeout_ns: int) -> None:
    ends = {"from": "probe", "to": "echo"}
    probe = ProbeSpec.model_validate({**ends, "interval": "closed-loop", **given})
    assert probe.pace == probe.pace_at_rest == ClosedLoop(Duration(timeout_ns))
    slower = ProbeSpec.model_validate(
        {**ends, "interval": "closed-loop", "at_rest_interval": "20ms", **given}
    )
    assert slower.pace_at_rest == Duration(20_000_000)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("interval: closed-loop, held: true", "has no `held`"),
        ("interval: 1ms, timeout: 10ms", "only a probe of `interval: closed-loop` has `timeout`"),
        ("interval: closed-loop, timeout: 0s", "a `timeout` of more than 0"),
        ("interval: closed-lop", "'closed-lop'"),
    ],
)
def test_a_closed_loop_that_contradicts_itself_is_refused(given: str, says: str) -> None:
    with pytest.raises(BadInput, match=re.escape(says)) as refused:
        study_from(parse(STUDY.replace("interval: 10ms", given), "study.yaml"))
    assert "study.yaml" in str(refused.value)


def test_a_lab_file_is_found_beside_its_study(tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text(LAB)
    study = tmp_path / "study.yaml"
    study.write_text("study: s\nlab: lab.yaml\nprobe: {from: probe, to: echo}\n")
    (only,) = combinations(load_study(study), "quick")
    assert only.lab.name == "testbed"
    study.write_text("study: s\nlab: other.yaml\nprobe: {from: probe, to: echo}\n")
    with pytest.raises(BadInput, match=r"study.yaml:2: no lab file .*other.yaml"):
        load_study(study)


@given(st.text(max_size=200))
def test_any_text_is_a_lab_or_one_line(text: str) -> None:
    said = "lab.yaml"
    try:
        lab_from(parse(text, "lab.yaml"))
    except BadInput as error:
        said = str(error)
    assert said.startswith("lab.yaml")


def test_a_load_says_what_it_is() -> None:
    load = LoadSpec.model_validate({"disk": 3, "on": "noisy"})
    assert (load.what, load.amount) == ("disk", 3)


words = st.from_regex(r"\A[a-z][a-z0-9-]{0,10}\Z")
cpu_sets = st.none() | st.lists(st.integers(0, 7), min_size=1, max_size=3)


@st.composite
def labs(draw: st.DrawFn) -> dict[str, object]:
    """Labs as a file has them: plain data."""
    hosts = draw(st.lists(words, min_size=1, max_size=3, unique=True))
    nodes = draw(st.lists(words, min_size=2, max_size=5, unique=True))
    kinds = st.sampled_from(["native", "shared", "netns"])
    uplink = st.fixed_dictionaries(
        {"rate": st.sampled_from(["100Mbit", "2.5Gbit", "1kbit"])},
        optional={"queue": st.integers(1, 10_000), "burst": st.sampled_from(["16KiB", "1500B"])},
    )
    members = st.lists(st.sampled_from(nodes), min_size=2, unique=True)
    links = draw(st.lists(members, max_size=4))
    return {
        "lab": draw(words),
        "ip": draw(st.sampled_from([[4], [6], [4, 6]])),
        "hosts": {
            host: draw(st.just({}) | st.fixed_dictionaries({"uplink": uplink})) for host in hosts
        },
        "nodes": {
            node: {
                "kind": draw(kinds),
                "host": draw(st.sampled_from(hosts)),
                "cpus": draw(cpu_sets),
            }
            for node in nodes
        },
        "links": [{"join": link, "name": f"l{number}"} for number, link in enumerate(links)],
    }


@given(labs())
def test_labs_round_trip(lab: dict[str, object]) -> None:
    """As YAML text -> lab -> the record that a running lab keeps -> the same lab."""
    read_back = lab_from(parse(yaml.safe_dump(lab), "lab.yaml"))
    record = json.loads(json.dumps(read_back.written.model_dump(mode="json", by_alias=True)))
    assert lab_from_data(record) == read_back
    assert {name: dict(node)["kind"] for name, node in lab["nodes"].items()} == {  # type: ignore[attr-defined]
        name: node.kind for name, node in read_back.nodes.items()
    }
