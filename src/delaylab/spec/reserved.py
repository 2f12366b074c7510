"""CPUs that a lab reserves for some of its nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from delaylab.spec.this_machine import HERE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from delaylab.spec.kinds import NodeSpec
    from delaylab.spec.lab import LabSpec
    from delaylab.spec.source import Document, Location, Problems


def reserved_cpus(of_nodes: Mapping[str, NodeSpec]) -> list[tuple[list[int], list[str]]]:
    """Return each set of CPUs that a lab reserves, with the nodes that reserve it."""
    found: dict[tuple[int, ...], list[str]] = {}
    for name, node in of_nodes.items():
        if node.reserved:
            found.setdefault(tuple(sorted(node.cpus or ())), []).append(name)
    return [(list(cpus), nodes) for cpus, nodes in found.items()]


def check_reserved(lab: LabSpec, document: Document, at: Location, problems: Problems) -> None:
    """Collect an error for each reserved set of CPUs that another node or an engine may use."""
    for cpus, nodes in reserved_cpus(lab.nodes):
        user = _user(lab, cpus, nodes)
        if user:
            what = f"node {nodes[0]!r} reserves {cpus_in_words(cpus)}, which {user} may use"
            fix = f"give {user} other `cpus`"
            problems.errors.append(document.refuse(what, (*at, "nodes", nodes[0], "reserved"), fix))


def _user(lab: LabSpec, cpus: list[int], nodes: list[str]) -> str | None:
    """Return the first that may use these CPUs beside the nodes that reserve them."""
    for node in lab.nodes:
        allowed = lab.cpus_of(node)
        if node not in nodes and (allowed is None or set(allowed) & set(cpus)):
            return f"node {node!r}"
    for host in lab.hosts or (HERE,):
        if set(lab.engine_on(host).cpus or ()) & set(cpus):
            return f"the link engine of host {host!r}" if lab.hosts else "the link engine"
    return None


def cpus_in_words(cpus: list[int]) -> str:
    """Return CPUs by their numbers: `CPU 1`, `CPUs 0, 1`."""
    return f"CPU{'s' * (len(cpus) > 1)} {', '.join(map(str, cpus))}"
