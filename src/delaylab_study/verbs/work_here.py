"""Check of which work of a study runs on which kind of node here, by what its programs need.

Nothing is built and nothing is started: whether the kinds themselves are usable was tried before.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from delaylab.api.doctor import Check
from delaylab.api.kinds import FACTS, FIELDS_OF_KINDS
from delaylab.api.plans import KINDS
from delaylab.api.running import QUERY
from delaylab_study.study_file.work import JOBS

GROUP = "work"
PACKAGES = "packages"
"""The row for work that needs programs of packages, whatever job it is."""
PROGRAMS = {"cpu": None, "tcp": "iperf3", "command": None}
"""Work that needs no packages in an image, with the program that it runs if that is always one."""
BUILDERS = {"apt-get": "apt", "dpkg-deb": "dpkg"}
"""Programs that make images with packages, and the packages that they are in."""
DISK_BUILDERS = {"mke2fs": "e2fsprogs"}


def checks(kinds: Iterable[Check]) -> list[Check]:
    """Return a check for each work on each of these kinds, which are given by their own checks."""
    return [_check(job, kind) for job in (*JOBS, PACKAGES) for kind in kinds]


def _check(job: str, kind: Check) -> Check:
    name = f"{job} on {kind.name}"
    if not kind.usable:
        return Check(GROUP, name, False, "", kind.why_not, kind.fix, tried=kind.tried)
    if job not in PROGRAMS:
        return _packages(name, kind.name)
    program = PROGRAMS[job]
    if KINDS[kind.name].facts.own_root:
        what = f"{program or 'programs'} of its image"
    elif program and shutil.which(program) is None:
        return _missing(name, program, program)
    else:
        what = f"{program or 'programs'} of this machine"
    return Check(GROUP, name, True, "the agent computes" if job == "cpu" else what)


def _packages(name: str, kind: str) -> Check:
    if kind not in FIELDS_OF_KINDS[PACKAGES]:
        why = f"delaylab puts no packages into the image of kind {kind}"
        return Check(GROUP, name, False, "", why, "take another kind")
    if not KINDS[kind].facts.own_root:
        needs, what = {QUERY: "dpkg"}, "packages that are installed on this machine"
    else:
        needs = BUILDERS | (DISK_BUILDERS if FACTS[kind].virtual_machine else {})
        what = "packages that apt finds; they are put into its image"
    lacking = next((program for program in needs if shutil.which(program) is None), None)
    if lacking is not None:
        return _missing(name, lacking, needs[lacking])
    return Check(GROUP, name, True, what)


def _missing(name: str, program: str, package: str) -> Check:
    why = f"{program} is not installed"
    return Check(GROUP, name, False, "", why, f"apt-get install {package}")


def print_checks(checks: Iterable[Check], console: Console) -> None:
    """Print a table of work and kinds, and below it the reasons, once for kinds that share it."""
    cells = {_ends(check): check for check in checks if check.group == GROUP}
    jobs, kinds = (list(dict.fromkeys(ends)) for ends in zip(*cells, strict=True))
    table = Table("work", *kinds, box=None, pad_edge=False, header_style="bold")
    for job in jobs:
        table.add_row(job, *(cells[job, kind].mark() for kind in kinds))
    console.print()
    console.print(table)
    # Why a kind is not usable at all is in the table of kinds.
    usable = [kind for kind in kinds if cells[JOBS[0], kind].usable]
    for job in jobs:
        reasons: dict[str, list[str]] = {}
        for kind in usable:
            reasons.setdefault(_reason(cells[job, kind]), []).append(kind)
        for reason, sharing in reasons.items():
            console.print(Text(f"{job} on {', '.join(sharing)}: {reason}"))


def _ends(check: Check) -> tuple[str, str]:
    job, _, kind = check.name.partition(" on ")
    return job, kind


def _reason(check: Check) -> str:
    if check.usable:
        return check.detail
    return check.why_not + (f" → {check.fix}" if check.fix else "")
