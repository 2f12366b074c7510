"""Work in study files: written out, changed by levels, refused with its line."""

from __future__ import annotations

import pytest

from delaylab.errors import BadInput
from delaylab.spec.kinds import HostedNode
from delaylab.spec.source import parse
from delaylab_study.study_file.combine import Combination, combinations
from delaylab_study.study_file.load import study_from
from delaylab_study.study_file.work import MpiWork, PairWork

LAB = (
    "lab: {lab: l, hosts: {one: {}}, nodes: {n: {host: one, count: 2}, far: {host: one, count: 2}},"
    " links: [{join: [n, far], name: lan}]}"
)
HEAD = f"study: s\n{LAB}\nprobe: {{from: n-1, to: far-1}}\n"


def study(work: str, factors: str = "") -> list[Combination]:
    text = f"{HEAD}{f'factors: {factors}' if factors else 'factors: {}'}\nwork:\n  - {work}\n"
    return list(combinations(study_from(parse(text, "s.yaml")), "quick"))


def refusal(work: str, factors: str = "") -> str:
    with pytest.raises(BadInput) as raised:
        study(work, factors)
    return str(raised.value)


def pairs(made: Combination) -> list[tuple[str, str]]:
    work = made.work[0]
    assert isinstance(work, PairWork)
    return work.pairs


def mpi(made: Combination) -> MpiWork:
    work = made.work[0]
    assert isinstance(work, MpiWork)
    return work


def test_counted_nodes_are_written_out() -> None:
    (made,) = study("{name: count, on: n, cpu: 10}")
    assert made.work[0].on == ["n-1", "n-2"]


def test_each_stream_has_its_far_end() -> None:
    (each,) = study("{name: s, on: n, tcp: 1s, to: far}")
    assert pairs(each) == [("n-1", "far-1"), ("n-2", "far-2")]
    (files,) = study("{name: s, on: n, scp: 1MB, to: far}")
    assert pairs(files) == [("n-1", "far-1"), ("n-2", "far-2")]
    (one,) = study("{name: s, on: n, tcp: 1s, to: far-1}")
    assert pairs(one) == [("n-1", "far-1"), ("n-2", "far-1")]


def test_a_program_of_mpi_runs_on_all_its_nodes() -> None:
    (many,) = study("{name: m, on: n, mpi: latency}")
    assert many.work[0].on == ["n-1", "n-2"]
    assert many.work[0].needs == ("openmpi-bin",)
    (one,) = study("{name: m, on: n-1, mpi: hpcc, ranks: 4}")
    assert (mpi(one).ranks, one.work[0].needs) == (4, ("openmpi-bin", "hpcc"))
    assert mpi(one).equations == 500
    (large,) = study("{name: m, on: n, mpi: hpcc, order: 3000}")
    assert (mpi(large).equations, mpi(many).equations) == (3000, None)
    (none,) = study("{name: m, on: [], mpi: latency}")
    assert none.work[0].on == []


def test_guests_and_this_machines_files_are_not_mixed_in_one_program() -> None:
    mixed = LAB.replace("far: {", "far: {kind: lxc, ")
    text = f"study: s\n{mixed}\nprobe: {{from: n-1, to: far-1}}\nfactors: {{}}\nwork:\n  - "
    work = "{name: m, on: [n-1, far-1], mpi: latency}"
    with pytest.raises(BadInput, match="'far-1' is a guest, and 'n-1' runs on this machine's"):
        list(combinations(study_from(parse(text + work, "s.yaml")), "quick"))
    guests = "{name: m, on: far, mpi: latency}"
    assert list(combinations(study_from(parse(text + guests, "s.yaml")), "quick"))


def test_levels_change_work_by_its_name() -> None:
    little, much = study(
        "{name: count, on: n, cpu: 10}", "{size: {little: {}, much: {work.count.cpu: 99}}}"
    )
    assert [each.work[0].model_dump()["cpu"] for each in (little, much)] == [10, 99]


def test_the_number_of_nodes_may_be_a_factor() -> None:
    two, three = study("{name: count, on: n, cpu: 1}", "{n: {two: {}, three: {nodes.n.count: 3}}}")
    assert [len(each.work[0].on) for each in (two, three)] == [2, 3]


def packages(made: Combination, node: str) -> list[str] | None:
    spec = made.lab.nodes[node]
    assert isinstance(spec, HostedNode)
    return spec.packages


def test_its_packages_are_added_to_those_of_its_nodes() -> None:
    work = "{name: w, on: n, command: [x], packages: [povray, bzip2]}"
    own = "{nodes.n.packages: [pigz, bzip2]}"
    none, some = study(work, f"{{own: {{none: {{}}, some: {own}}}}}")
    assert packages(none, "n-2") == ["bzip2", "povray"]
    assert packages(some, "n-1") == ["bzip2", "pigz", "povray"]
    assert packages(none, "far-1") is None


def test_only_nuttcp_is_a_package_that_images_lack() -> None:
    (one,) = study("{name: s, on: n, tcp: 1s, to: far-1, by: nuttcp}")
    assert packages(one, "n-1") == packages(one, "far-1") == ["nuttcp"]
    (other,) = study("{name: s, on: n, tcp: 1s, to: far-1}")
    assert packages(other, "n-1") is None


def test_a_node_with_an_image_of_its_own_keeps_it_as_it_is() -> None:
    work = "{name: w, on: n, command: [x], packages: [povray]}"
    (made,) = study(work, "{k: {own: {nodes.n.kind: lxc, nodes.n.image: /root}}}")
    assert packages(made, "n-1") is None


def test_packages_for_a_kind_that_gets_none_are_refused() -> None:
    work = "{name: w, on: n, command: [x], packages: [povray]}"
    found = refusal(work, "{kind: {xen: {nodes.n.kind: xen}}}")
    assert "needs povray, and node 'n-1' is of a kind without `packages`" in found
    study("{name: w, on: n, command: [x]}", "{kind: {xen: {nodes.n.kind: xen}}}")


@pytest.mark.parametrize(
    ("work", "said"),
    [
        ("{name: w, on: n}", "exactly one of cpu, tcp, scp, mpi, command"),
        ("{name: w, on: n, cpu: 1, command: [ls]}", "exactly one of cpu, tcp, scp, mpi, command"),
        ("{name: w, on: n, cpu: 0}", "cpu"),
        ("{name: w, on: n, tcp: 1s}", "needs `to`"),
        ("{name: w, on: n, scp: 1MB}", "needs `to`"),
        ("{name: w, on: n, cpu: 1, to: far}", "needs `to`, and no other has it"),
        ("{name: w, on: n, scp: 0B, to: far}", "`scp` is more than 0 and at most 100GB"),
        ("{name: w, on: n, scp: 101GB, to: far}", "`scp` is more than 0 and at most 100GB"),
        ("{name: w, on: n, mpi: bt}", "'latency' or 'hpcc'"),
        ("{name: w, on: n, mpi: latency, ranks: 2}", "2 nodes has one rank on each"),
        ("{name: w, on: n-1, mpi: latency}", "on one node needs `ranks`"),
        ("{name: w, on: n-1, mpi: latency, ranks: 1}", "ranks"),
        ("{name: w, on: n-1, cpu: 1, ranks: 2}", "only work of `mpi` has `ranks`"),
        ("{name: w, on: n, mpi: latency, order: 3000}", "only work of `mpi: hpcc` has `order`"),
        ("{name: w, on: n, mpi: hpcc, order: 99}", "order"),
        ("{name: w, on: n, mpi: hpcc, to: far}", "needs `to`, and no other has it"),
        ("{name: w, on: n-1, scp: 1MB, to: n-1}", "'n-1' is its own far end"),
        ("{name: w, on: n, cpu: 1, by: nuttcp}", "only work of `tcp` has `by`"),
        ("{name: w, on: n, tcp: 1s, to: far, by: netperf}", "'iperf3' or 'nuttcp'"),
        ("{name: w, on: n, tcp: 1500ms, to: far}", "whole number of seconds"),
        ("{name: w, on: n, tcp: 70s, to: far}", "`deadline` is 60s"),
        ("{name: w, on: n, cpu: 1, unit: MB/s}", "only work of `command` has `unit`"),
        ("{name: w, on: n, cpu: 1, packages: [xz-utils]}", "only work of `command` has `packages`"),
        (
            "{name: w, on: n, command: [x], packages: [X11]}",
            "packages: expected the name of a package",
        ),
        (
            "{name: w, on: n, command: [x], packages: [--purge]}",
            "packages: expected the name of a package",
        ),
        (
            "{name: w, on: n, command: [x], packages: [a]}",
            "packages: expected the name of a package",
        ),
        ("{name: w, on: n, command: [x], result: '([0-9'}", "no regular expression"),
        ("{name: w, on: n, command: [x], result: '[0-9]+'}", "needs one group"),
        ("{name: w, on: n, command: [x], figures: {a: {find: '[0-9]+'}}}", "needs one group"),
        ("{name: w, on: n, cpu: 1, figures: {a: {find: '([0-9]+)'}}}", "only work of `command`"),
        ("{name: w, on: nowhere, cpu: 1}", "no node 'nowhere'"),
        ("{name: w, on: [n, n-1], cpu: 1}", "'n-1' is listed twice"),
        ("{name: w, on: n-1, tcp: 1s, to: n-1}", "'n-1' is its own far end"),
        ("{name: w, on: [n, far-1], tcp: 1s, to: far}", "`on` has 3 nodes, and `to` has 2"),
        ("{name: w, on: n, cpu: 1}\n  - {name: w, on: n, cpu: 1}", "two works are named 'w'"),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(work: str, said: str) -> None:
    found = refusal(work)
    assert said in found
    assert found.startswith(("s.yaml:6", "s.yaml:7"))


def test_a_bad_level_is_refused_at_the_level() -> None:
    found = refusal("{name: count, on: n, cpu: 10}", "{size: {much: {work.count.cpu: 0}}}")
    assert found.startswith("s.yaml:4")
    found = refusal("{name: count, on: n, cpu: 10}", "{size: {much: {work.cuont.cpu: 9}}}")
    assert "'work.cuont.cpu' leads to nothing" in found


def without_probe(rest: str) -> list[Combination]:
    """A study without a probe, and with this after its lab."""
    text = f"study: s\n{LAB}\n{rest}\n"
    return list(combinations(study_from(parse(text, "s.yaml")), "quick"))


COUNT = "work: [{name: count, on: n, cpu: 10}]"


def test_a_study_with_work_needs_no_probe() -> None:
    (made,) = without_probe(COUNT)
    assert made.probe is None
    assert made.work[0].on == ["n-1", "n-2"]


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        ("factors: {load: {cpu: [{cpu: 1, on: n}]}}", "there is no probe, no node works"),
        ("work: []", "there is no probe, no node works"),
        ("work: [{name: count, on: [], cpu: 1}]", "there is no probe, no node works"),
        (
            f"{COUNT}\nfactors: {{of: {{all: {{}}, none: {{work.count.on: []}}}}}}",
            "nothing is measured with of=none",
        ),
        (
            f"{COUNT}\nfactors: {{size: {{small: {{probe.size: 64}}}}}}",
            "'probe.size' leads to nothing",
        ),
        (
            f"{COUNT}\nclaims: [{{claim: quick, of: rtt.app, median: {{at-most: 1ms}}}}]",
            "claim 'quick' is about packets, and the study has no `probe`",
        ),
    ],
)
def test_what_a_study_without_a_probe_cannot_have(rest: str, said: str) -> None:
    with pytest.raises(BadInput) as raised:
        without_probe(rest)
    assert said in str(raised.value)
    assert "s.yaml" in str(raised.value)
