"""Packages that work needs on the nodes that do it."""

from __future__ import annotations

from collections.abc import Iterable

from delaylab.api.kinds import HostedNode
from delaylab.api.lab_files import LabSpec
from delaylab_study.study_file.work import WorkSpec


def needs(work: Iterable[WorkSpec]) -> dict[str, set[str]]:
    """Return the packages that nodes need for their work, by node."""
    found: dict[str, set[str]] = {}
    for each in work:
        for node in each.nodes:
            found.setdefault(node, set()).update(each.needs)
    return found


def without_packages(lab: LabSpec, work: WorkSpec) -> str | None:
    """Return the first node of a work that needs packages and is of a kind that gets none."""
    nodes = work.nodes if work.needs else ()
    return next((node for node in nodes if not isinstance(lab.nodes[node], HostedNode)), None)
