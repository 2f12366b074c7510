"""A check, before a study runs, that packets of its probe and loads have a path to take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from delaylab.errors import BadInput, DelaylabError
from delaylab.kinds import KINDS
from delaylab.machines import LOCAL
from delaylab.plan.build import build
from delaylab.plan.model import Plan
from delaylab.plan.ways.path import node_path
from delaylab.spec.lab import LabSpec
from delaylab.spec.study.combine import Combination, StudyFile
from delaylab.spec.study.loads import FramesLoad, PairLoad
from delaylab.study.order import Planned

Ends = tuple[str, str, str | None]
"""Two nodes, and the link by which packets must arrive at the second one, if one is given."""


def check_ways(study: StudyFile, planned: Sequence[Planned]) -> None:
    """Raise BadInput if no path leads from the sender of a probe or of a load to its receiver.

    Nothing is started. Labs that cannot be planned on this machine are passed over: `fits` names
    them.
    """
    plans: dict[str, Plan | None] = {}
    checked: set[tuple[str, str, Ends]] = set()
    for trial in planned:
        lab = trial.combination.lab
        key = lab.model_dump_json()
        if key not in plans:
            plans[key] = _planned(lab)
        plan = plans[key]
        if plan is None:
            continue
        for part, ends in _ends(trial.combination):
            if (key, part, ends) not in checked:
                checked.add((key, part, ends))
                _check(study, plan, lab, part, ends)


def _planned(lab: LabSpec) -> Plan | None:
    try:
        return build(lab, KINDS, LOCAL.rights())
    except DelaylabError:
        return None


def _ends(combination: Combination) -> Iterator[tuple[str, Ends]]:
    """Yield the ends between which packets go, each with the part of a study file that says so."""
    probe = combination.probe
    if probe is not None and not probe.outside:
        yield "probe", (probe.sender, probe.to, probe.over)
    for load in combination.loads:
        if isinstance(load, PairLoad):
            for over in load.arrivals if isinstance(load, FramesLoad) else [None]:
                yield "factors", (load.on, load.to, over)


def _check(study: StudyFile, plan: Plan, lab: LabSpec, part: str, ends: Ends) -> None:
    try:
        node_path(plan, lab, *ends)
    except BadInput as error:
        raise study.document.refuse(error.what, (part,), error.fix) from None
