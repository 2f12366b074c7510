"""Check of a combination's work against its lab."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pydantic import Field

from delaylab.api.documents import Document, Location, validate
from delaylab.api.kinds import FIELDS_OF_KINDS
from delaylab.api.lab_files import LabSpec, NamesInFile, with_counts
from delaylab.api.models import Spec
from delaylab_study.study_file.expand_jobs import expand_work
from delaylab_study.study_file.needs import without_packages
from delaylab_study.study_file.work import MpiWork, PairWork, WorkSpec

WORK = "work"


class _Work(Spec):
    """The work of a study, by itself."""

    work: list[WorkSpec] = Field(default_factory=list)


def work_of(
    data: list[object],
    given: Mapping[Location, str],
    lab: LabSpec,
    known: NamesInFile,
    document: Document,
) -> tuple[WorkSpec, ...]:
    """Return a combination's work with every counted node written out; raise BadInput if invalid.

    `given` are the parts that levels gave, each with its ``file:line``.
    """
    here = {place: at for place, at in given.items() if place[0] == WORK}
    said = replace(document, data={WORK: data}, elsewhere=here)
    found = validate(_Work, said).work
    for index, each in enumerate(found):
        for field, nodes in each.ends.items():
            for node in nodes:
                if node not in known:
                    fix = f"nodes: {', '.join(lab.nodes)}"
                    raise said.refuse(f"no node {node!r}", (WORK, index, field), fix)
    names = [each.name for each in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        at = (WORK, len(names) - 1 - names[::-1].index(twice), "name")
        raise said.refuse(f"two works are named {twice!r}", at)
    work = expand_work(found, known)
    for index, each in enumerate(work):
        _check_ends(each, said, (WORK, index))
        _check_kinds(each, lab, said, (WORK, index))
        _check_trust(each, lab, said, (WORK, index))
    return work


def _check_kinds(work: WorkSpec, lab: LabSpec, document: Document, at: Location) -> None:
    """Raise BadInput if a node that needs packages is of a kind that gets none."""
    node = without_packages(with_counts(lab), work) if work.needs else None
    if node is not None:
        kinds = ", ".join(sorted(FIELDS_OF_KINDS["packages"]))
        what = f"the work needs {work.needs[0]}, and node {node!r} is of a kind without `packages`"
        raise document.refuse(what, at, f"kinds with `packages`: {kinds}")


def _check_trust(work: WorkSpec, lab: LabSpec, document: Document, at: Location) -> None:
    """Raise BadInput if a program of MPI runs both in guests and on this machine's files.

    Its nodes start programs on each other: a guest could run any on this machine.
    """
    if not isinstance(work, MpiWork):
        return
    nodes = with_counts(lab).nodes
    guests = [node for node in work.on if nodes[node].own_root]
    if guests and len(guests) < len(work.on):
        other = next(node for node in work.on if node not in guests)
        what = (
            f"{guests[0]!r} is a guest, and {other!r} runs on this machine's files: MPI would let"
        )
        fix = "take nodes of all the one or all the other sort"
        raise document.refuse(f"{what} the guest run programs there", (*at, "on"), fix)


def _check_ends(work: WorkSpec, document: Document, at: Location) -> None:
    """Raise BadInput unless each node of a work has a far node where it needs one."""
    double = next((node for node in work.on if work.on.count(node) > 1), None)
    if double is not None:
        raise document.refuse(f"{double!r} is listed twice", (*at, "on"))
    if isinstance(work, MpiWork) and work.on and (len(work.on) == 1) == (work.ranks is None):
        what = f"a program of MPI on {len(work.on)} nodes"
        if len(work.on) == 1:
            raise document.refuse("a program of MPI on one node needs `ranks`", (*at, "on"))
        raise document.refuse(f"{what} has one rank on each", (*at, "ranks"), "leave `ranks` out")
    if not isinstance(work, PairWork):
        return
    if len(work.to) not in (1, len(work.on)) and work.on:
        what = f"`on` has {len(work.on)} nodes, and `to` has {len(work.to)}"
        raise document.refuse(what, (*at, "to"), "one node for all, or one for each")
    own = next((node for node, to in work.pairs if node == to), None)
    if own is not None:
        raise document.refuse(f"{own!r} is its own far end", (*at, "to"))
