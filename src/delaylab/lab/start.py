"""Start of labs: kept until they are taken down, or for the length of a block."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from delaylab.errors import BadInput
from delaylab.io.interrupts import deferred
from delaylab.kinds import KINDS
from delaylab.lab import files, machine_stack, memory, packages
from delaylab.lab.cpus import check_cpus
from delaylab.lab.links.link_engines import eased
from delaylab.lab.neighbours import note_on_neighbours
from delaylab.lab.running import LiveLab
from delaylab.machines import LOCAL, Keeper, LabRecord, Machine, lab_token
from delaylab.plan.build import build
from delaylab.plan.kept import written
from delaylab.plan.kind import Rights
from delaylab.plan.model import Plan
from delaylab.progress import Progress, silent
from delaylab.records.doubts import Doubt, DoubtKind, doubt
from delaylab.resolve.lab import Lab
from delaylab.routing.node_programs import NodePrograms
from delaylab.spec.this_machine import LOCAL_MACHINE

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}"
"""The name of a running lab: a file's, and never an option of the commands that take it."""


def check_name(name: str) -> str:
    """Return the name for a running lab; raise BadInput if it cannot be one."""
    if re.fullmatch(NAME, name):
        return name
    fix = "take letters, digits, `.`, `_` and `-`, with a letter or a digit first, 63 at most"
    raise BadInput(f"{name!r} cannot be a lab's name", fix=fix)


@contextmanager
def starting(
    spec: Lab,
    *,
    name: str | None = None,
    progress: Progress = silent,
    machine: Machine = LOCAL,
) -> Iterator[LiveLab]:
    """Start a lab, completely or not at all; it outlives this process.

    If the block ends with an exception, such as Ctrl-C, the lab is removed. Raises BadInput if
    `name` cannot be the lab's.
    """
    name = check_name(spec.name if name is None else name)
    lab, keeper, daemons = _build(machine, spec, name, accounting=False, progress=progress)
    try:
        _begin(lab, daemons, progress)
        if spec.counts_from_ready:
            from delaylab.lab import timeline  # noqa: PLC0415  most labs have no such timeline

            timeline.begin(lab)
        yield lab
    except BaseException:
        lab.close()
        keeper.release()
        raise
    keeper.keep()


@contextmanager
def temporary(
    spec: Lab,
    *,
    accounting: bool = True,
    progress: Progress = silent,
    machine: Machine = LOCAL,
) -> Iterator[LiveLab]:
    """Run a lab under a unique name for the length of a block, and remove it on every exit.

    A timeline that counts from when the lab is ready has not begun yet.
    """
    name = f"{spec.name[:20]}-{os.getpid():x}-{time.monotonic_ns() & 0xFFFFFF:06x}"
    lab, keeper, daemons = _build(machine, spec, name, accounting=accounting, progress=progress)
    try:
        _begin(lab, daemons, progress)
        yield lab
    finally:
        with deferred():
            lab.close()
            keeper.release()
            machine.sweep()


def not_applied(spec: Lab, rights: Rights) -> list[Doubt]:
    """Return a note for each host whose Xen cannot be as the lab file says: it runs already."""
    if not rights.dom0:
        return []
    text = "`hosts.{}.xen` is not applied: Xen on this machine has its CPUs and scheduler from boot"
    return [
        doubt(DoubtKind.FABRIC, text.format(name), "")
        for name, host in spec.hosts.items()
        if host.xen is not None
    ]


def _build(
    machine: Machine, spec: Lab, name: str, *, accounting: bool, progress: Progress
) -> tuple[LiveLab, Keeper, Mapping[str, NodePrograms]]:
    if spec.machines_used:
        from delaylab.lab import over_machines  # noqa: PLC0415  few labs are over several

        return over_machines.start(spec, name, progress=progress)
    rights = machine.rights()
    # Nodes that are interfaces of this machine bring the lab's frames to a LAN with others.
    outside = any(node.outside is not None for node in spec.nodes.values())
    token = lab_token.of_this_machine() if outside else ""
    plan = build(spec, KINDS, rights, name=name, accounting=accounting, token=token)
    files.check_files(spec)
    packages.check_packages([spec])
    check_cpus(spec, machine)
    memory.check_memory(spec, machine)
    machine_stack.check_addresses(plan, machine)
    plan, notes, booted = _with_guests(plan, machine, progress)
    record = LabRecord(
        spec_json=spec.record(),
        plan_json=written(plan),
        created=time.time(),
    )
    left = machine.prepare(name)
    notes += [*not_applied(spec, rights), *note_on_neighbours(plan, machine)]
    guests = _guests(plan)
    waits = f", waiting for {guests} containers and machines" if guests else ""
    progress(f"starting {len(spec.nodes)} nodes{waits}", 0)
    running, keeper = machine.build(plan, record)
    notes += [
        doubt(DoubtKind.FABRIC, f"left by a lab that was killed: {failure}", "")
        for failure in left.failed
    ]
    # Set here so that they need not be read back from the record.
    running.spec, running.plan = spec, plan
    return LiveLab(running, notes, booted), keeper, plan.daemons


def _begin(lab: LiveLab, daemons: Mapping[str, NodePrograms], progress: Progress) -> None:
    """Start the programs of a lab that is built, and wait until its routers forward rightly.

    Before that, the ways between machines are tried.
    """
    if lab.spec.machines_used:
        from delaylab.lab.links import crossings  # noqa: PLC0415  most labs have one machine

        crossings.check(lab)
    held = lab.spec.counts_from_ready
    if held or _is_down_in_a_guest(lab.spec):
        from delaylab.lab.links import link_changes  # noqa: PLC0415  most labs begin with all links

        if held:
            link_changes.hold_timeline(lab)
        else:
            # The engine started before the guest, and could not tell it.
            link_changes.start_timeline(lab)
    routed = lab.spec.has_daemons
    given = any(node.files or node.start for node in lab.spec.nodes.values())
    if not daemons and not routed and not given:
        return
    from delaylab.lab.programs import first  # noqa: PLC0415  most labs have none

    if not routed:
        first.start_programs(lab, daemons)
        return
    from delaylab.lab.routing import converged, untaken  # noqa: PLC0415  most labs have no daemons

    with converged.awaiting(lab) as awaited, eased(lab):
        began_s = time.monotonic()
        first.start_programs(lab, daemons)
        lab.notes = (*lab.notes, *untaken.notes(lab, daemons))
        lab.converged = converged.converged(lab, awaited, began_s, progress)
        first.resume_notifications(lab, daemons)


def _is_down_in_a_guest(spec: Lab) -> bool:
    """Return True if a link begins down at a virtual machine, which does not see its cable."""
    return any(
        spec.nodes[node].carrier != "port" and sent.first.state == "down"
        for link in spec.links.values()
        for node, sent in link.sent.items()
    )


def _with_guests(
    plan: Plan, machine: Machine, progress: Progress
) -> tuple[Plan, list[Doubt], dict[str, str]]:
    """Return the completed plan, notes for the user, and the image layers that guests boot."""
    if not _guests(plan):
        return plan, [], {}
    from delaylab.lab import completion  # noqa: PLC0415  slow to import; most labs have no guests

    made = completion.complete(plan, {LOCAL_MACHINE: machine}, progress)
    return made.plan, made.notes, made.booted


def _guests(plan: Plan) -> int:
    return sum(agent.guest is not None for agent in plan.agents)
