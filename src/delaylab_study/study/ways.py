"""A check, before a study runs, that packets of its probe and loads have a path to take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from delaylab.api.errors import BadInput
from delaylab.api.lab import Lab
from delaylab.api.plans import Plan, node_path
from delaylab_study.study.order import Planned
from delaylab_study.study.study_lab import StudyLab
from delaylab_study.study_file.combine import Combination, StudyFile
from delaylab_study.study_file.loads import FramesLoad, PairLoad

Ends = tuple[str, str, str | None]
"""Two nodes, and the link by which packets must arrive at the second one, if one is given."""


def check_ways(study: StudyFile, planned: Sequence[Planned]) -> None:
    """Raise BadInput if no path leads from the sender of a probe or of a load to its receiver.

    Nothing is started. Labs that cannot be planned on this machine are passed over: `fits` names
    them.
    """
    checked: set[tuple[StudyLab, str, Ends]] = set()
    for trial in planned:
        if trial.lab.plan is None:
            continue
        for part, ends in _ends(trial.combination):
            if (trial.lab, part, ends) not in checked:
                checked.add((trial.lab, part, ends))
                _check(study, trial.lab.plan, trial.lab.lab, part, ends)


def _ends(combination: Combination) -> Iterator[tuple[str, Ends]]:
    """Yield the ends between which packets go, each with the part of a study file that says so."""
    probe = combination.probe
    if probe is not None and not probe.outside:
        yield "probe", (probe.sender, probe.to, probe.over)
    for load in combination.loads:
        if isinstance(load, PairLoad):
            for over in load.arrivals if isinstance(load, FramesLoad) else [None]:
                yield "factors", (load.on, load.to, over)


def _check(study: StudyFile, plan: Plan, lab: Lab, part: str, ends: Ends) -> None:
    try:
        node_path(plan, lab, *ends)
    except BadInput as error:
        raise study.document.refuse(error.what, (part,), error.fix) from None
