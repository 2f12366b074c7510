"""Start of labs over several machines: on all of them, or on none."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache

from delaylab.errors import NotHere
from delaylab.io.side_by_side import side_by_side
from delaylab.kinds import KINDS
from delaylab.lab import files, memory, packages
from delaylab.lab.cpus import check_cpus
from delaylab.lab.neighbours import note_on_neighbours
from delaylab.lab.running import LiveLab
from delaylab.machines import LOCAL, Keeper, LabRecord, Machine, lab_token
from delaylab.machines.building import JointKeeper, LabPart, build_all
from delaylab.machines.cluster_files import forget
from delaylab.machines.clusters import ClusterLab, remember
from delaylab.machines.lab_parts import ClusterFile, part_file
from delaylab.machines.room import mtus
from delaylab.machines.ssh import SshMachine, reach_of
from delaylab.machines.underlay import addresses, check, lan_interfaces, round_trips
from delaylab.plan.build import build
from delaylab.plan.conditions.underlay import RoundTrips, measured_underlay
from delaylab.plan.kept import written
from delaylab.plan.model import Plan
from delaylab.plan.parts import parts, tunnels
from delaylab.progress import Progress
from delaylab.records.doubts import Doubt, DoubtKind, doubt
from delaylab.resolve.lab import Lab
from delaylab.routing.node_programs import NodePrograms
from delaylab.spec.this_machine import LOCAL_MACHINE

MOST_PAIRS = 3
"""The most pairs of machines whose round trips are said, the slowest first."""
MOST_LINKS = 5
"""The most links that a note names."""


class RememberedKeeper(Keeper):
    """The keeper of a lab over several machines, which is remembered before it is kept."""

    def __init__(self, name: str, file: ClusterFile, joint: JointKeeper) -> None:
        self._name, self._file, self._joint = name, file, joint
        self.session = joint.session

    def keep(self) -> None:
        """Keep all parts from now on, until the lab is taken down."""
        remember(self._name, self._file)
        try:
            self._joint.keep()
        except BaseException:
            forget(self._name)
            raise

    def release(self) -> None:
        """End all parts, and wait until they are gone."""
        self._joint.release()


def start(
    spec: Lab, name: str, *, progress: Progress
) -> tuple[LiveLab, Keeper, Mapping[str, NodePrograms]]:
    """Build a lab on all its machines, or undo it on all and raise DelaylabError."""
    others = {each: SshMachine(each, reach_of(spec.machines[each])) for each in spec.machines_used}
    try:
        return _start(spec, name, others, progress=progress)
    except BaseException:
        for machine in others.values():
            machine.close()
        raise


def _start(
    spec: Lab,
    name: str,
    others: Mapping[str, SshMachine],
    *,
    progress: Progress,
) -> tuple[LiveLab, Keeper, Mapping[str, NodePrograms]]:
    here = any(host.machine is None for host in spec.hosts.values())
    machines: dict[str, Machine] = {**({LOCAL_MACHINE: LOCAL} if here else {}), **others}
    progress(f"connecting to {', '.join(others)}", 0)
    for other in others.values():
        other.begin()
    rights_of_each = side_by_side(lambda other: other.rights(), others.values())
    rights = dict(zip(others, rights_of_each, strict=True))
    _check_distinct(others)
    of_machines = cache(lambda: addresses(spec, machines))
    mtu_by_link = mtus(spec, machines, of_machines)
    # Another lab of this name may be on the same LAN, or have a part on one of the machines.
    token = lab_token.drawn()
    fitted = spec.with_mtus(mtu_by_link)
    plan = build(fitted, KINDS, LOCAL.rights(), name=name, machines=rights, token=token)
    plan = replace(plan, mtus=mtu_by_link)
    files.check_files(spec)
    side_by_side(lambda each: _check_fits(spec, *each), machines.items())
    plan, notes, booted = _with_guests(plan, machines, progress)
    at = _addresses(plan, machines, of_machines)
    plan, measured = measured_underlay(
        plan, lambda: round_trips(tunnels(plan), machines, at) if at else []
    )
    notes += _note_on_underlay(plan, measured)
    left = LOCAL.prepare(name)
    side_by_side(lambda other: other.prepare(name), others.values())
    record = LabRecord(
        spec_json=spec.record(),
        plan_json=written(plan),
        created=time.time(),
        machines={key: machine.identity() for key, machine in machines.items()},
    )
    by_machine = parts(plan, at, lan_interfaces(tunnels(plan), machines, at))
    for key, part_plan in by_machine.items():
        nodes = spec.on_machine(key).nodes
        own = replace(part_plan, nodes={each: plan.nodes[each] for each in nodes})
        notes += note_on_neighbours(own, machines[key])
    notes += [
        doubt(DoubtKind.FABRIC, f"left by a lab that was killed: {failure}", "")
        for failure in left.failed
    ]
    progress(f"starting {len(spec.nodes)} nodes on {len(by_machine)} machines", 0)
    wanted = [
        LabPart(machines[key], part_plan, record.model_copy(update={"machine": key}))
        for key, part_plan in by_machine.items()
    ]
    built, joint = build_all(wanted)
    file = ClusterFile(
        record=record,
        parts={
            key: part_file(record.machines[key].reach, answer)
            for key, answer in zip(by_machine, built, strict=True)
        },
    )
    running = ClusterLab(name, file, machines)
    running.spec, running.plan = spec, plan
    running.know_parts()
    return LiveLab(running, notes, booted), RememberedKeeper(name, file, joint), plan.daemons


def _check_fits(spec: Lab, key: str, machine: Machine) -> None:
    """Raise NotHere if a machine lacks what its part of the lab needs."""
    packages.check_packages([spec], machine)
    part = spec.on_machine(key)
    check_cpus(part, machine)
    memory.check_memory(part, machine)


def _check_distinct(machines: Mapping[str, SshMachine]) -> None:
    """Raise NotHere if two names are one machine: a lab would meet itself there."""
    known: dict[str, str] = {}
    for name, machine in machines.items():
        other = known.setdefault(machine.facts.identity, name)
        if other != name:
            what = f"is the same as machine {other}"
            raise NotHere(what, f"machine {name}", "put both hosts on one of them")


def _addresses(
    plan: Plan, machines: Mapping[str, Machine], asked: Callable[[], dict[str, str]]
) -> dict[str, str]:
    """Return the addresses of the machines for links between them; none if there is no such link.

    `asked` returns those of all machines. Raises NotHere if such a link cannot be made.
    """
    wanted = tunnels(plan)
    if not wanted:
        return {}
    for name in dict.fromkeys(tunnel.machine for tunnel in wanted):
        if not machines[name].rights().root:
            what = "a link to another machine needs root there"
            raise NotHere(what, f"machine {name}", "let ssh reach it as root")
    at = asked()
    check(wanted, machines, at)
    return at


def _note_on_underlay(plan: Plan, measured: Sequence[RoundTrips]) -> list[Doubt]:
    """Return notes on the delay of the network between machines; none without such links."""
    if not measured:
        return []
    named = "; ".join(each.words for each in measured[:MOST_PAIRS])
    more = len(measured) - MOST_PAIRS
    others = f"; and {more} other pairs, which are faster" if more > 0 else ""
    said = f"round trip between {named}{others}"
    whole = {tunnel.link for tunnel in tunnels(plan)}
    on_top = sorted(whole - plan.underlays.keys())
    if not on_top:
        text = f"half of the least round trip between machines is part of each link's delay; {said}"
    else:
        links = ", ".join(on_top[:MOST_LINKS]) + (", …" if len(on_top) > MOST_LINKS else "")
        text = f"the network between machines adds to the delay of {links}; {said}"
    return [doubt(DoubtKind.FABRIC, text, "")]


def _with_guests(
    plan: Plan, machines: Mapping[str, Machine], progress: Progress
) -> tuple[Plan, list[Doubt], dict[str, str]]:
    """Return the completed plan, notes, and the image layers that guests boot.

    What guests boot is put on their machines.
    """
    if not any(agent.guest for agent in plan.agents):
        return plan, [], {}
    from delaylab.lab import completion  # noqa: PLC0415  slow to import; most labs have no guests

    made = completion.complete(plan, machines, progress)
    return made.plan, made.notes, made.booted
