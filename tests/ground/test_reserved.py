"""CPUs that a lab reserves for some of its nodes."""

from __future__ import annotations

import pytest

from delaylab.errors import DelaylabError
from delaylab.resolve.lab import Lab
from delaylab.resolve.load import lab_from
from delaylab.spec.reserved import reserved_cpus
from delaylab.spec.source import parse

MINE = "host: any, cpus: [1], reserved: true"


def lab(nodes: str, rest: str = "") -> Lab:
    hosts = "hosts: {any: {}, own: {cpus: [0]}}"
    return lab_from(parse(f"lab: l\n{hosts}\nnodes: {{{nodes}}}\n{rest}", "lab.yaml"))


@pytest.mark.parametrize(
    ("nodes", "reserved"),
    [
        (f"a: {{{MINE}}}, b: {{host: any, cpus: [0]}}", [([1], ["a"])]),
        (f"a: {{{MINE}}}, b: {{host: own}}, c: {{{MINE}}}", [([1], ["a", "c"])]),
        (
            f"a: {{{MINE}}}, b: {{host: any, cpus: [0], reserved: true}}",
            [([1], ["a"]), ([0], ["b"])],
        ),
        (f"a: {{{MINE}}}", [([1], ["a"])]),
        ("a: {host: any, cpus: [1]}, b: {host: any, cpus: [0]}", []),
        ("a: {host: any}, b: {host: any}", []),
    ],
    ids=["one", "two share", "each has its own", "nobody else", "not said", "no CPUs named"],
)
def test_cpus_are_reserved_by_those_who_say_so(
    nodes: str, reserved: list[tuple[list[int], list[str]]]
) -> None:
    assert reserved_cpus(lab(nodes).nodes) == reserved


def test_the_engine_of_a_lab_without_hosts_is_kept_off_too() -> None:
    nodes = "nodes: {a: {cpus: [1], reserved: true}, b: {cpus: [0]}}"
    with pytest.raises(DelaylabError, match="node 'a' reserves CPU 1, which the link engine may"):
        lab_from(parse(f"lab: l\nengine: {{cpus: [1]}}\n{nodes}\n", "lab.yaml"))


@pytest.mark.parametrize(
    ("nodes", "rest", "said"),
    [
        ("b: {host: any, cpus: [0, 1]}", "", "node 'a' reserves CPU 1, which node 'b' may use"),
        ("b: {host: any}", "", "which node 'b' may use (give node 'b' other `cpus`)"),
        ("b: {host: any, cpus: [1]}", "", "which node 'b' may use"),
        ("b: {host: any, cpus: [0, 1], reserved: true}", "", "which node 'b' may use"),
        ("b: {host: own}", "engine: {cpus: [1]}", "which the link engine of host 'any' may use"),
        ("b: {host: any, reserved: true}", "", "`reserved` needs `cpus`"),
    ],
    ids=["overlapping", "all CPUs", "the same, not reserved", "another set", "engine", "no CPUs"],
)
def test_a_reserved_cpu_that_others_may_use_is_refused(nodes: str, rest: str, said: str) -> None:
    with pytest.raises(DelaylabError) as refused:
        lab(f"a: {{{MINE}}}, {nodes}", rest)
    assert said in str(refused.value)
