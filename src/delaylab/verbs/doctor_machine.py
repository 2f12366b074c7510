"""Verb `delaylab doctor --machine`: what a machine that is reached by ssh can carry of a lab."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from delaylab.agent.wire.sessions import Hello
from delaylab.errors import BadInput, NotHere
from delaylab.lab.packages import not_installed
from delaylab.machines.reach import Reach
from delaylab.machines.ssh import SshMachine, reach_of
from delaylab.plan.kind import KVM, VHOST
from delaylab.plan.rights_of import PRIVILEGED
from delaylab.progress import Progress
from delaylab.resolve.lab import Lab
from delaylab.resolve.load import load_lab
from delaylab.spec.kinds import HostedNode
from delaylab.verbs import kind_trial
from delaylab.verbs.checks import Check
from delaylab.verbs.doctor import known_kinds, of_kernel, of_kind

MEBIBYTE = 1 << 20
USES = {KVM: "virtual machines run, and are not emulated", VHOST: "their cards are faster on KVM"}
"""Uses of devices that no kind needs."""

PACKAGES = {
    "frr": "`routing:` of nodes with the machine's programs",
    "bird2": "`routing: {by: bird}` of such nodes",
    "iperf3": "work and loads of `tcp` there",
}
"""Packages that nodes of the machine's own programs need for what delaylab starts there."""


def examine(
    name: str,
    lab_file: Path | None,
    progress: Progress,
    kinds: Sequence[str] | None = None,
    *,
    build_images: bool = False,
    sudo: bool = False,
) -> list[Check]:
    """Try a machine: a name of the lab file, or, without one, a name that ssh knows.

    All kinds are tried, or only these; one whose image is not built only if `build_images` is true.
    Raises BadInput if the lab file has no such machine, or for an unknown kind.
    """
    reach, wanted, lab = Reach(ssh=name, sudo=sudo), known_kinds(kinds), None
    if lab_file is not None:
        lab = load_lab(lab_file)
        known = lab.machines
        if name not in known:
            fix = f"one of: {', '.join(known)}" if known else "name one in `machines:`"
            raise BadInput(f"no machine {name!r}", str(lab_file), fix)
        reach = reach_of(known[name])
    machine = SshMachine(name, reach)
    progress(f"connecting to {name}", 0)
    try:
        checks = [*_connection(machine), *_rights(machine), *of_kernel(machine)]
        checks += _packages(machine, lab)
        return [*checks, *_kinds(machine, wanted, progress, build_images=build_images)]
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
    why = "" if rights.root else "a link to another machine needs root there"
    fix = "" if rights.root else "let ssh reach it as root"
    lacking = {path: "it cannot be used" if path in rights.lacking else "" for path in USES}
    labs = rights.why_no_lab() or ""
    return [
        Check("right", "labs", not labs, "namespaces and their networks", labs, PRIVILEGED),
        Check("right", "links to other machines", rights.root, "VXLAN, plain Ethernet", why, fix),
        *(Check("device", path, not why, USES[path], why) for path, why in lacking.items()),
    ]


def _packages(machine: SshMachine, lab: Lab | None) -> list[Check]:
    """Check what nodes with the machine's own programs may need, and what those of a lab do need.

    What only a guest's image needs is not looked for.
    """
    uses = dict(PACKAGES)
    nodes = {} if lab is None else lab.on_machine(machine.name).nodes
    for node, spec in nodes.items():
        if isinstance(spec, HostedNode) and not spec.own_root:
            uses |= dict.fromkeys(spec.packages or (), f"needed by node {node}")
    try:
        lacking = not_installed(set(uses), machine)
    except NotHere as error:
        return [Check("package", ", ".join(uses), False, "", error.what, error.fix)]
    return [
        Check("package", each, False, use, "not installed there", f"apt-get install {each} there")
        if each in lacking
        else Check("package", each, True, use)
        for each, use in uses.items()
    ]


def _kinds(
    machine: SshMachine, kinds: Sequence[str], progress: Progress, *, build_images: bool
) -> Iterator[Check]:
    """Yield a check of each kind: a lab with one such node is built there and taken down."""
    rights = machine.rights()
    for done, name in enumerate(kinds):
        progress(f"trying {name} on {machine.name}", done / len(kinds))
        yield of_kind(
            kind_trial.kind(name, rights, progress, build_images=build_images, machine=machine)
        )
