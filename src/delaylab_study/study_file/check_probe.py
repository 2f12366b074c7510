"""Check of a combination's probe against its lab."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from delaylab.api.documents import Document, Location, validate
from delaylab.api.kinds import is_virtual_machine
from delaylab.api.lab import Lab, round_trip_ns
from delaylab.api.lab_files import (
    BoundUdp,
    LabSpec,
    ListensTcp,
    NamesInFile,
    links_of,
    named_links,
    names_in,
    origins,
)
from delaylab.api.services import PORTS
from delaylab.api.units import Duration
from delaylab_study.study_file.probe import LATE, STREAMS, ProbeSpec

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
    if probe.clean is not None and is_virtual_machine(lab.nodes[origins(lab)[probe.sender]].kind):
        what = f"{probe.sender!r} has a clock of its own: its packets cannot be placed in its "
        what += "machine's use"
        raise said.refuse(what, (PROBE, "clean"), "leave out `clean`, or send from another kind")
    return _with_responder(probe, lab, said)


def _with_responder(probe: ProbeSpec, lab: LabSpec, document: Document) -> ProbeSpec:
    """Return the probe with who answers it, and the port of a service.

    Raises BadInput if a program of the lab has the port of delaylab's responder, or if it is not
    said where a service listens.
    """
    if probe.protocol == "icmp":
        return probe
    wanted = probe.port or PORTS.get(probe.protocol)
    program = None if probe.outside else _listening(probe, wanted, lab)
    if program is not None and probe.responder == "delaylab":
        what = f"program {program!r} of {probe.to!r} has port {wanted}, which the probe is for"
        raise document.refuse(what, (PROBE, "responder"), "say `responder: own`, or another port")
    if program is None and not probe.answered_by_service:
        return probe.model_copy(update={"responder": "delaylab"})
    if wanted is None:
        what = f"`port` is missing: the one that the service listens at in {probe.to!r}"
        raise document.refuse(what, (PROBE,), "say `port:`")
    return probe.model_copy(update={"responder": "own", "port": wanted})


def _listening(probe: ProbeSpec, port: int | None, lab: LabSpec) -> str | None:
    """Return the program of the probed node that says it is ready at a port; None if none does."""
    for program in lab.nodes[origins(lab)[probe.to]].start:
        ready = program.ready
        tcp = probe.protocol in ("tcp", *STREAMS)
        if tcp and isinstance(ready, ListensTcp) and ready.tcp == port:
            return program.called
        if not tcp and isinstance(ready, BoundUdp) and ready.udp == port:
            return program.called
    return None


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
