"""Check of a combination's probe against its lab."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from delaylab.api.documents import Document, Location, validate
from delaylab.api.lab import Lab, round_trip_ns
from delaylab.api.lab_files import LabSpec, NamesInFile, links_of, named_links, names_in
from delaylab.api.units import Duration
from delaylab_study.study_file.model import LATE, ProbeSpec

PROBE = "probe"


def probe_of(
    data: dict[str, object], given: Mapping[Location, str], lab: LabSpec, document: Document
) -> ProbeSpec:
    """Return a combination's probe; raise BadInput if it is invalid in this lab.

    `given` are the parts that levels gave, each with its ``file:line``.
    """
    here = {place: at for place, at in given.items() if place[0] == PROBE}
    said = replace(document, data={**document.data, PROBE: data}, elsewhere=here)
    probe = validate(ProbeSpec, said, (PROBE,))
    known, links = names_in(lab), links_of(lab, named_links(lab))
    known_node(lab, known, probe.sender, said, (PROBE, "from"))
    if not probe.outside:
        known_node(lab, known, probe.to, said, (PROBE, "to"), answers=probe.protocol == "icmp")
    if probe.over is not None:
        one_of(probe.over, [each for name in links.values() for each in name], document, PROBE)
    if not probe.outside and probe.ip not in lab.ip:
        what = f"the probe wants IPv{probe.ip}, the lab has none"
        raise document.refuse(what, (PROBE, "ip"), "say `ip:` in the lab")
    return probe


def patient(probe: ProbeSpec, lab: Lab) -> ProbeSpec:
    """Return a probe whose `late` follows the delays that the lab's links are configured for.

    A study that says `late` keeps it.
    """
    if "late" in probe.model_fields_set or probe.outside:
        return probe
    longest_ns = round_trip_ns(lab, probe.sender, probe.to)
    late = Duration(max(LATE.ns, longest_ns + LATE.ns // 2))
    return probe if late == probe.late else probe.model_copy(update={"late": late})


def one_of(link: str, links: list[str], document: Document, at: str) -> None:
    """Raise BadInput unless a link is one of these."""
    if link not in links:
        raise document.refuse(f"no link {link!r}", (at,), f"links: {', '.join(links)}")


def is_counted(lab: LabSpec, node: str) -> bool:
    """Return True if a node's name stands for many nodes."""
    return node in lab.nodes and lab.nodes[node].count is not None


def known_node(
    lab: LabSpec,
    known: NamesInFile,
    node: str,
    document: Document,
    at: Location,
    *,
    answers: bool = False,
) -> None:
    """Raise BadInput for a node that the lab lacks; that of a probe stands for one node.

    Nothing runs on a node that is an interface of this machine; with `answers` nothing need: what
    is behind it answers.
    """
    if node not in known:
        raise document.refuse(f"no node {node!r}", at, f"nodes: {', '.join(lab.nodes)}")
    if node in lab.nodes and lab.nodes[node].outside and not answers:
        what = f"{node!r} is an interface of this machine: nothing of the lab runs there"
        raise document.refuse(what, at, "take another node; a probe by `icmp` may go to it")
    if at[0] == PROBE and is_counted(lab, node):
        raise document.refuse(f"{node!r} stands for many nodes (`count:`)", at, "probe one node")
