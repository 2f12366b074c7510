"""A check that a machine has the packages of nodes that use its programs."""

from __future__ import annotations

from collections.abc import Iterable

from delaylab.errors import NotHere
from delaylab.machines import LOCAL, Machine
from delaylab.resolve.lab import Lab
from delaylab.spec.kinds import HostedNode

PROGRAMS = {"frr": "/usr/lib/frr/zebra", "bird2": "bird", "iperf3": "iperf3"}
"""Programs that delaylab starts on nodes, by their packages: one must be there as well."""
QUERY = "dpkg-query"
LIMIT_S = 60.0
"""The time in which it has to answer."""


def check_packages(labs: Iterable[Lab], machine: Machine = LOCAL) -> None:
    """Raise NotHere for the first node whose programs are the machine's and are not installed.

    Nodes of other machines are left out.
    """
    wanted = [
        (node, spec.kind, package)
        for lab in labs
        for node, spec in lab.on_machine(machine.name).nodes.items()
        if isinstance(spec, HostedNode) and not spec.own_root
        for package in spec.packages or ()
    ]
    if not wanted:
        return
    lacking = not_installed({package for _, _, package in wanted}, machine)
    for node, kind, package in wanted:
        if package in lacking:
            what = f"package {package} is not installed on {machine.words}, whose programs nodes of"
            fix = f"apt-get install {' '.join(sorted(lacking))}"
            raise NotHere(f"{what} kind {kind} run", f"node {node}", fix)


def not_installed(packages: set[str], machine: Machine) -> set[str]:
    """Return which of these packages are not installed on a machine, as the distribution says.

    One whose program delaylab starts is not installed either if that is not there. Raises NotHere
    for others on a system without Debian's packages, DelaylabError if it does not answer in time.
    """
    programs = {PROGRAMS[each]: each for each in packages if each in PROGRAMS}
    lacking = {programs[each] for each in machine.lacking(programs)} if programs else set()
    try:
        return lacking | _not_installed(packages - lacking, machine)
    except NotHere:
        if packages <= PROGRAMS.keys():
            return lacking
        raise


def _not_installed(packages: set[str], machine: Machine) -> set[str]:
    if not packages:
        return set()
    argv = [QUERY, "--show", "--showformat", "${Package} ${db:Status-Status}\\n", *sorted(packages)]
    out = machine.output(argv, LIMIT_S)
    if out is None:
        what = f"`packages` are Debian's, and {machine.words} has no {QUERY}"
        raise NotHere(what, fix="leave `packages` out, and install the programs by hand")
    states = (line.split() for line in out.splitlines())
    return packages - {name for name, state in states if state == "installed"}
