"""A check that a machine has the packages of nodes that use its programs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterable

from delaylab.agent.machine_requests import Machine as AskMachine
from delaylab.agent.requests import Exec
from delaylab.agent.result import AgentError
from delaylab.errors import NotHere
from delaylab.machines import LOCAL, Machine
from delaylab.resolve.lab import Lab
from delaylab.spec.kinds import HostedNode
from delaylab.spec.this_machine import LOCAL_MACHINE

PROGRAMS = {"frr": "/usr/lib/frr/zebra", "bird2": "bird", "iperf3": "iperf3"}
"""Programs that delaylab starts on nodes, by their packages: one must be there as well."""
QUERY = "dpkg-query"
NO_PROGRAM = 127
"""The exit code of env(1) if it does not find the program."""
LIMIT_S = 60.0
"""The time in which it has to answer."""


def check_packages(
    labs: Iterable[Lab], machine: Machine = LOCAL, name: str = LOCAL_MACHINE
) -> None:
    """Raise NotHere for the first node whose programs are the machine's and are not installed.

    `name` is the machine's in the labs. Nodes of other machines are left out.
    """
    wanted = [
        (node, spec.kind, package)
        for lab in labs
        for node, spec in lab.on_machine(name).nodes.items()
        if isinstance(spec, HostedNode) and not spec.own_root
        for package in spec.packages or ()
    ]
    if not wanted:
        return
    lacking = not_installed({package for _, _, package in wanted}, machine)
    where = "this machine" if machine is LOCAL else f"machine {name}"
    for node, kind, package in wanted:
        if package in lacking:
            what = f"package {package} is not installed on {where}, whose programs nodes of"
            fix = f"apt-get install {' '.join(sorted(lacking))}"
            raise NotHere(f"{what} kind {kind} run", f"node {node}", fix)


def not_installed(packages: set[str], machine: Machine = LOCAL) -> set[str]:
    """Return which of these packages are not installed on a machine, as the distribution says.

    One whose program delaylab starts is not installed either if that is not there. Raises NotHere
    for others on a system without Debian's packages, TooSlow or AgentError if it does not answer.
    """
    lacking = without_program(packages, machine)
    try:
        return lacking | _not_installed(packages - lacking, machine)
    except NotHere:
        if packages <= PROGRAMS.keys():
            return lacking
        raise


def without_program(packages: Collection[str], machine: Machine = LOCAL) -> set[str]:
    """Return which of these packages have a known program that a machine does not have."""
    programs = {PROGRAMS[each]: each for each in packages if each in PROGRAMS}
    if not programs:
        return set()
    if machine is LOCAL:
        return {package for name, package in programs.items() if shutil.which(name) is None}
    session = machine.session()
    try:
        found = session.call(AskMachine(programs=sorted(programs)), LIMIT_S).done.lacking
    except AgentError as error:
        raise machine.explained(error) from None
    finally:
        session.close()
    return {programs[name] for name in found if name in programs}


def _not_installed(packages: set[str], machine: Machine) -> set[str]:
    if not packages:
        return set()
    argv = [QUERY, "--show", "--showformat", "${Package} ${db:Status-Status}\\n", *sorted(packages)]
    out = _said_here(argv) if machine is LOCAL else _said_there(argv, machine)
    states = (line.split() for line in out.splitlines())
    return packages - {name for name, state in states if state == "installed"}


def _said_here(argv: list[str]) -> str:
    if shutil.which(QUERY) is None:
        raise _no_query("this system")
    from delaylab.io import programs  # noqa: PLC0415  few labs have packages

    _, out, _ = programs.output(argv, {**os.environ, "LC_ALL": "C"}, LIMIT_S)
    return out


def _said_there(argv: list[str], machine: Machine) -> str:
    session = machine.session()
    try:
        result = session.call(Exec(argv=["env", "LC_ALL=C", *argv]), LIMIT_S)
    except AgentError as error:
        raise machine.explained(error) from None
    finally:
        session.close()
    if result.done.exit == NO_PROGRAM:
        raise _no_query(f"machine {machine.name}")
    return result.stdout.decode(errors="replace")


def _no_query(where: str) -> NotHere:
    what = f"`packages` are Debian's, and {where} has no {QUERY}"
    return NotHere(what, fix="leave `packages` out, and install the programs by hand")
