"""Verb `delaylab doctor --machine`: what a machine that is reached by ssh can carry of a lab."""

from __future__ import annotations

from pathlib import Path

from delaylab.agent.requests import Hello
from delaylab.errors import BadInput, DelaylabError
from delaylab.kinds import KINDS
from delaylab.machines.building import Part, build_all
from delaylab.machines.machine import LabRecord
from delaylab.machines.ssh import SshMachine
from delaylab.plan.build import build
from delaylab.plan.kind import PACKAGES
from delaylab.plan.parts import parts
from delaylab.progress import Progress
from delaylab.spec.lab import LabSpec
from delaylab.spec.load import load_lab
from delaylab.verbs.checks import Check
from delaylab.verbs.doctor import PARTS

NAME = "doctor-tries"
MEBIBYTE = 1 << 20


def examine(name: str, lab_file: Path | None, progress: Progress) -> list[Check]:
    """Try a machine: a name of the lab file, or, without one, a name that ssh knows.

    Raises BadInput if the lab file has no such machine.
    """
    target = name
    if lab_file is not None:
        known = load_lab(lab_file).machines
        if name not in known:
            fix = f"one of: {', '.join(known)}" if known else "name one in `machines:`"
            raise BadInput(f"no machine {name!r}", str(lab_file), fix)
        target = known[name].ssh
    machine = SshMachine(name, target)
    progress(f"connecting to {name}", 0)
    try:
        return [*_connection(machine), *_rights(machine), *_kernel(machine), *_nodes(machine)]
    finally:
        machine.close()


def _connection(machine: SshMachine) -> list[Check]:
    hello, facts = machine.ask(Hello()), machine.facts
    detail = (
        f"{facts.hostname}, {facts.kernel}, {len(machine.cpus())} CPUs, "
        f"{facts.available_bytes // MEBIBYTE} of {facts.memory_bytes // MEBIBYTE} MiB free; "
        f"agent {hello.version}"
    )
    return [Check("machine", machine.target, True, detail)]


def _rights(machine: SshMachine) -> list[Check]:
    rights = machine.rights()
    missing = [PACKAGES.get(name, name) for name in sorted(rights.lacking)]
    why = "" if rights.root else "a link to another machine needs root there"
    fix = "" if rights.root else "let ssh reach it as root"
    lacking = f"not there: {', '.join(missing)}" if missing else "all that nodes need is there"
    return [
        Check("right", "links to other machines", rights.root, "VXLAN", why, fix),
        Check("right", "programs and devices", True, lacking),
    ]


def _kernel(machine: SshMachine) -> list[Check]:
    parts_of = machine.kernel_parts()
    fix = "a kernel with it; `engine: own` needs none of these"
    return [
        Check("kernel", name, parts_of[name] is None, meaning, parts_of[name] or "", fix)
        for name, meaning in PARTS.items()
        if name in parts_of
    ]


def _nodes(machine: SshMachine) -> list[Check]:
    """Build a lab of two nodes and a link with conditions there, and take it down."""
    lab = LabSpec.model_validate(
        {
            "lab": NAME,
            "machines": {"tried": {"ssh": machine.target}},
            "hosts": {"host": {"machine": "tried"}},
            "nodes": {"a": {"host": "host"}, "b": {"host": "host"}},
            "links": [{"between": ["a", "b"], "name": "wire", "delay": "1ms"}],
        }
    )
    rights = machine.rights()
    plan = build(lab, KINDS, rights, name=NAME, machines={"tried": rights})
    ((_, whole),) = parts(plan, {}).items()
    detail = "two nodes, and a link with a delay between them"
    try:
        machine.prepare(NAME)
        (built,), keeper = build_all([Part(machine, whole, LabRecord(machine="tried"))])
        keeper.release()
    except DelaylabError as error:
        return [Check("kind", "netns", False, detail, error.what, error.fix)]
    took = f"{detail}: up in {built.elapsed_ns / 1e9:.2f} s"
    return [Check("kind", "netns", True, took)]
