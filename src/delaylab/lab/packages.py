"""A check that this machine has the packages of nodes that use its programs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable

from delaylab.errors import NotHere
from delaylab.io import programs
from delaylab.spec.kinds import HostedNode
from delaylab.spec.lab import LabSpec

QUERY = "dpkg-query"
LIMIT_S = 60.0
"""The time in which it has to answer."""


def check_packages(labs: Iterable[LabSpec]) -> None:
    """Raise NotHere for the first node whose programs are this machine's and are not installed."""
    wanted = [
        (name, spec.kind, package)
        for lab in labs
        for name, spec in lab.nodes.items()
        if isinstance(spec, HostedNode) and not spec.own_root
        for package in spec.packages or ()
    ]
    if not wanted:
        return
    lacking = not_installed({package for _, _, package in wanted})
    for name, kind, package in wanted:
        if package in lacking:
            what = f"package {package} is not installed on this machine, whose programs nodes of"
            fix = f"apt-get install {' '.join(sorted(lacking))}"
            raise NotHere(f"{what} kind {kind} run", f"node {name}", fix)


def not_installed(packages: set[str]) -> set[str]:
    """Return which of these packages the distribution says are not installed on this machine.

    Raises NotHere on a system without Debian's packages, TooSlow if it does not answer.
    """
    query = shutil.which(QUERY)
    if query is None:
        what = f"`packages` are Debian's, and this system has no {QUERY}"
        raise NotHere(what, fix="leave `packages` out, and install the programs by hand")
    argv = [query, "--show", "--showformat", "${Package} ${db:Status-Status}\\n", *sorted(packages)]
    _, out, _ = programs.output(argv, {**os.environ, "LC_ALL": "C"}, LIMIT_S)
    states = (line.split() for line in out.splitlines())
    return packages - {name for name, state in states if state == "installed"}
