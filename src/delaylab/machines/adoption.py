"""Labs over several machines that were started elsewhere, found by a part on any of their machines.

Every part's record names all machines of its lab by their identity. So each part can be found by
itself, whatever its user's ssh calls the machines, and whichever of them are lost.
"""

from __future__ import annotations

from contextlib import suppress

from pydantic import TypeAdapter, ValidationError

from delaylab.agent.wire.sessions import BuildDone, BuiltAgent
from delaylab.errors import DelaylabError
from delaylab.io.side_by_side import side_by_side
from delaylab.machines import registry
from delaylab.machines.clusters import ClusterLab, remember, running
from delaylab.machines.identity import MachineIdentity
from delaylab.machines.lab_parts import UNKNOWN, ClusterFile, PartFile, part_file, same_lab
from delaylab.machines.local import LOCAL
from delaylab.machines.machine import DescribedLab, Machine, OtherVersion
from delaylab.machines.reach import Reach
from delaylab.machines.ssh import SshMachine
from delaylab.resolve.agent_names import AgentName, host_agent, node_agent
from delaylab.spec.base import SshTarget
from delaylab.spec.machine import MachineSpec
from delaylab.spec.this_machine import LOCAL_MACHINE


def adopt(target: str, *, sudo: bool = False) -> list[DescribedLab]:
    """Know the labs of which a machine, reached by ssh, has a part, from now on.

    Of a lab that is known already, that machine is reached by this name from now on. Return the
    parts of other labs, whose names are those of labs that are known here.
    """
    reach = Reach(ssh=target, sudo=sudo)
    return _adopt(SshMachine(target, reach), reach)


def adopt_here() -> list[DescribedLab]:
    """Know the labs of which this machine has a part, as `adopt` does."""
    return _adopt(LOCAL, None)


def _adopt(machine: Machine, reach: Reach | None) -> list[DescribedLab]:
    registry.make()
    known = {lab.name: lab for lab in running()}
    others = []
    for part in machine.labs():
        if not part.is_part:
            continue
        lab = known.get(part.name)
        if lab is None:
            remember(part.name, _whole_or_part(part, reach))
        elif lab.record.created == part.record.created:
            _join(lab, part, reach)
        else:
            others.append(part)
    return others


def _join(lab: ClusterLab, part: DescribedLab, reach: Reach | None) -> None:
    """Remember how the machine of a part is reached, and the part as its keeper built it."""
    place, file = part.record.machine, lab.file
    parts = {**file.parts, place: part_file(reach, part.keeper)}
    joined = {"parts": parts, "ended": file.ended - {place}}
    remember(lab.name, file.model_copy(update=joined))


def _whole_or_part(part: DescribedLab, reach: Reach | None) -> ClusterFile:
    """Return the file of the lab of a part.

    Of a lab of another version, which does not name its machines, only this part is known: to take
    it down.
    """
    own = part_file(reach, part.keeper)
    place = part.record.machine
    try:
        abouts = {name: about for name, about in _machines(part).items() if name != place}
        found = side_by_side(lambda each: _other(part, *each), abouts.items())
        others = dict(zip(abouts, found, strict=True))
    except OtherVersion:
        others = {}
    return ClusterFile(record=part.record, parts={place: own, **others})


def _machines(part: DescribedLab) -> dict[str, MachineIdentity]:
    """Return the machines of the lab of a part, by their names in it."""
    if part.record.machines:
        return part.record.machines
    lab = part.spec  # its record is of an earlier version, which did not name them
    found = {name: _reached_as(lab.machines[name]) for name in lab.machines_used}
    if any(host.machine is None for host in lab.hosts.values()):
        found[LOCAL_MACHINE] = MachineIdentity()
    return found


def _other(part: DescribedLab, place: str, about: MachineIdentity) -> PartFile:
    """Return another part of the lab of a part, as its keeper built it if it can be reached."""
    machine: Machine
    reach = about.reach
    if about.is_surely(LOCAL.identity()):
        machine, reach = LOCAL, None
    elif reach is not None and _is_target(reach.ssh):
        machine = SshMachine(place, reach)
    else:
        return part_file(Reach(ssh=UNKNOWN), _planned(part, place))
    found = None
    with suppress(DelaylabError):
        found = same_lab(machine, part, place)
    return part_file(reach, _planned(part, place) if found is None else found.keeper)


def _reached_as(spec: MachineSpec) -> MachineIdentity:
    return MachineIdentity(ssh=spec.ssh, sudo=spec.sudo, cache=spec.cache)


def _is_target(ssh: str) -> bool:
    """Return True for a name that a lab file could give to ssh: this one is of another machine."""
    try:
        TypeAdapter(SshTarget).validate_python(ssh)
    except ValidationError:
        return False
    return True


def _planned(part: DescribedLab, place: str) -> BuildDone:
    """Return the agents that a part of a lab has by the plan; their processes are not known.

    Of a lab of another version, whose plan cannot be read, they are not known either.
    """
    try:
        plan = part.plan
    except OtherVersion:
        return BuildDone(pid=0, start=0)
    hosts = {node.host for node in plan.nodes.values()}
    at = {host: plan.machines.get(host, LOCAL_MACHINE) for host in hosts}
    names: list[str] = [host_agent(host) for host in sorted(hosts) if at[host] == place]
    names += [node_agent(name) for name, node in plan.nodes.items() if at[node.host] == place]
    names += [engine for engine in plan.engines if at.get(AgentName(engine).of) == place]
    nobody = BuiltAgent(pid=0, start=0)
    return BuildDone(pid=0, start=0, agents=dict.fromkeys(names, nobody))
