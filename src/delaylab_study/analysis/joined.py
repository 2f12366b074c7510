"""Datasets of one study as one: what each is of, its machine, is a factor more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from delaylab.api.errors import BadInput
from delaylab.api.progress import Progress, silent
from delaylab_study.analysis.analyse import Analysed, groups
from delaylab_study.analysis.group import Group
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.dataset.store import Study

MACHINE, DATASET = "machine", "dataset"


def names_of(studies: Sequence[Study]) -> tuple[str, list[str]]:
    """Return the factor that tells datasets apart, and the level of each.

    It is their machine if no two are of one, else their directory. Raise BadInput unless all are of
    one study, with the same factors.
    """
    first = studies[0].record
    for study in studies[1:]:
        where, record = str(study.directory), study.record
        if record.study != first.study:
            what = f"it is of study {record.study!r}, and {studies[0].directory} of {first.study!r}"
            raise BadInput(what, where, "give datasets of one study")
        if record.factors.keys() != first.factors.keys():
            ours, theirs = (", ".join(each.factors) or "none" for each in (first, record))
            what = f"its factors are {theirs}; those of {studies[0].directory} are {ours}"
            raise BadInput(what, where, "give datasets of one study")
    machines = [study.record.machine.hostname for study in studies]
    places = [study.directory.resolve() for study in studies]
    if len(set(places)) < len(places):
        raise BadInput("it is given twice", str(studies[0].directory), "give each dataset once")
    factor = MACHINE if len(set(machines)) == len(machines) else DATASET
    names = machines if factor == MACHINE else [place.name for place in places]
    if len(set(names)) < len(names):
        names = [str(study.directory) for study in studies]
    while factor in first.factors:
        factor += "-of"
    return factor, names


def joined(studies: Sequence[Study], progress: Progress = silent) -> Analysed:
    """Analyse datasets of one study each by itself, and return them as one study.

    Raise BadInput as `names_of` does, and for a damaged dataset.
    """
    factor, names = names_of(studies)
    found: list[Group] = []
    trials: list[TrialRecord] = []
    for name, study in zip(names, studies, strict=True):
        found += [
            replace(group, trials=_with(group.trials, factor, name))
            for group in groups(study, progress)
        ]
        trials += _with(study.trials, factor, name)
    first, record = studies[0], studies[0].record
    levels = {
        known: [*dict.fromkeys(level for each in studies for level in each.record.factors[known])]
        for known in record.factors
    }
    machines = {
        name if len(study.record.machines) == 1 else f"{name} {machine}": of
        for name, study in zip(names, studies, strict=True)
        for machine, of in study.record.machines.items()
    }
    update = {
        "factors": {factor: names, **levels},
        "planned": [trial for study in studies for trial in study.record.planned],
        "machines": machines,
    }
    whole = replace(first, record=record.model_copy(update=update), trials=trials)
    return Analysed(whole, found)


def _with(trials: Sequence[TrialRecord], factor: str, name: str) -> list[TrialRecord]:
    return [
        trial.model_copy(update={"factors": {factor: name, **trial.factors}}) for trial in trials
    ]
