"""Trial of a kind of node for `delaylab doctor`: bring a small lab up, probe it, and measure."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from delaylab import images
from delaylab.errors import DelaylabError, NotHere
from delaylab.kinds import KINDS
from delaylab.lab import completion
from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary
from delaylab.machines import LOCAL, Machine
from delaylab.plan.build import build
from delaylab.plan.kind import Rights
from delaylab.plan.rights_of import PRIVILEGED
from delaylab.progress import Progress
from delaylab.resolve.agent_names import machine_agent, node_agent
from delaylab.resolve.resolve import lab_from_data
from delaylab.spec.this_machine import LOCAL_MACHINE
from delaylab.units import MEBIBYTE, Duration
from delaylab_study.study_file.combine import Combination
from delaylab_study.study_file.model import ProbeSpec
from delaylab_study.trial import measure

if TYPE_CHECKING:
    from delaylab.machines.ssh import SshMachine

NEAR, FAR, TRIED = "near", "far", "tried"
HERE: dict[str, Machine] = {LOCAL_MACHINE: LOCAL}


@dataclass(frozen=True, kw_only=True)
class Tried:
    """Result for one kind of node on this machine: figures if it is usable, else reason and remedy.

    A kind whose image is not built is not `tried`: to build one takes minutes.

    `boot_s` is the time in s to bring up a lab with one such node, until it answers. `memory_mib`
    is the memory of the node's processes, and of the machine around it if it is in one, with shared
    pages counted in proportion (Pss); None without control groups. `rtt_us` is the median round
    trip in user space of the node, at rest, to a namespace on another host.
    """

    kind: str
    usable: bool
    why_not: str = ""
    fix: str = ""
    boot_s: float = 0
    memory_mib: float | None = None
    rtt_us: float | None = None
    notes: tuple[str, ...] = ()
    points: frozenset[str] = frozenset()
    tried: bool = True


def kind(
    name: str,
    rights: Rights,
    progress: Progress,
    protocol: str = "icmp",
    *,
    build_images: bool = False,
    machine: SshMachine | None = None,
) -> Tried:
    """Bring a lab with one node of this kind up, probe it, and take it down.

    Images that it needs are built only if `build_images` is true. The lab is on another `machine`
    if one is given, and `rights` are those there.
    """
    if why_not := rights.why_no_lab():
        return Tried(kind=name, usable=False, why_not=why_not, fix=PRIVILEGED)
    not_elsewhere = KINDS[name].not_elsewhere if machine else None
    reason = not_elsewhere or KINDS[name].here(rights).can_run(rights, False)
    if reason:
        why, _, fix = reason.partition("; ")
        return Tried(kind=name, usable=False, why_not=why, fix=fix)
    combination = _combination(name, protocol, machine)
    plan = build(combination.lab, KINDS, rights, machines={TRIED: rights})
    lacking = images.missing(
        word for agent in plan.agents if agent.guest for word in agent.guest.command
    )
    if lacking and not build_images:
        several = len(lacking) > 1
        what = f"images {', '.join(lacking)} are" if several else f"image {lacking[0]} is"
        why = f"not tried: the {what} not built"
        fix = f"delaylab image build {' '.join(lacking)}, or delaylab doctor --build"
        return Tried(kind=name, usable=False, why_not=why, fix=fix, tried=False)
    try:
        # So that images are no part of the time to boot.
        completion.complete(plan, {TRIED: machine} if machine else HERE, progress)
        began = time.monotonic()
        with temporary(combination.lab, progress=progress) as lab:
            boot_s = time.monotonic() - began
            memory_mib = _memory_mib(lab)
            recording = measure.measure(lab, combination, probe_id=1)
            notes = tuple(each.message for each in lab.warnings)
    except DelaylabError as error:
        return Tried(kind=name, usable=False, why_not=error.what, fix=error.fix)
    points = frozenset(recording.stamps["point"].unique())
    return Tried(
        kind=name,
        usable=True,
        why_not="",
        fix="",
        boot_s=boot_s,
        memory_mib=memory_mib,
        rtt_us=_rtt_us(recording.stamps),
        notes=notes,
        points=points,
    )


def _memory_mib(lab: LiveLab) -> float | None:
    # A Xen domain has no processes here: its pages are those of the machine around it.
    own = {name: lab.keeper.agents.get(name) for name in (node_agent("probe"), machine_agent(NEAR))}
    try:
        groups = [
            lab.machine_of(name).control_group(agent.cgroups)
            for name, agent in own.items()
            if agent is not None and agent.cgroups
        ]
    except NotHere:
        return None  # the accounts of other machines' control groups are not read
    return sum(group.memory_bytes() for group in groups) / MEBIBYTE if groups else None


def _rtt_us(stamps: pl.DataFrame) -> float | None:
    app = stamps.filter(pl.col("point") == "sender.app").pivot(
        "leg", index="seq", values="time_ns", aggregate_function="first"
    )
    if not {"request", "reply"} <= set(app.columns):
        return None
    median = app.select(pl.col("reply") - pl.col("request")).median().item()
    return None if median is None else float(median) / 1000


def _combination(name: str, protocol: str, machine: SshMachine | None) -> Combination:
    on = {"machine": TRIED} if machine else {}
    lab = lab_from_data(
        {
            "lab": "doctor",
            "machines": {TRIED: machine.reach.model_dump()} if machine else {},
            "hosts": {NEAR: on, FAR: on},
            "nodes": {
                "probe": {"kind": name, "host": NEAR},
                "echo": {"kind": "netns", "host": FAR},
            },
            "links": [{"join": ["probe", "echo"], "name": "lan"}],
        }
    )
    probe = ProbeSpec.model_validate(
        {
            "from": "probe",
            "to": "echo",
            "protocol": protocol,
            "count": 50,
            "interval": Duration(5_000_000),
            "at_rest": 0,
            "late": Duration(1_000_000_000),
        }
    )
    return Combination({}, lab, (), probe)
