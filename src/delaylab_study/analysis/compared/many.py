"""Comparison of several datasets, or of several levels of one factor, each with the first."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from delaylab.api.errors import BadInput
from delaylab.api.progress import Progress, silent
from delaylab_study.analysis.analyse import groups
from delaylab_study.analysis.compared.side import Side
from delaylab_study.analysis.compared.two_sides import ComparedSides, compare_sides
from delaylab_study.analysis.group import Group
from delaylab_study.dataset.store import Study

FEWEST = 2
"""The smallest number of levels that can be compared."""
MACHINE = "machine"
"""The factor whose levels are the machines, unless the study has a factor of that name."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Sides of which each is compared with the first; `factor` is empty if they are datasets."""

    sides: list[Side]
    compared: list[ComparedSides]
    factor: str = ""


def compare_studies(studies: Sequence[Study], progress: Progress = silent) -> Comparison:
    """Compare each of two or more datasets with the first; raise `BadInput` for a damaged one."""
    names = ["before", "after"]
    if len(studies) > len(names):
        names = [str(study.directory) for study in studies]
    sides = [
        Side(name, study, list(groups(study, progress)))
        for name, study in zip(names, studies, strict=True)
    ]
    return _with_first(sides)


def compare_levels(
    study: Study,
    factor: str,
    levels: Sequence[str],
    only: Mapping[str, set[str]],
    progress: Progress = silent,
) -> Comparison:
    """Compare levels of one factor of a dataset, each with the first of them, all else alike.

    `only` has the wanted levels of other factors. The machines that ran the trials are compared
    like the levels of a factor `machine`. Raise `BadInput` for a factor or a level that the dataset
    does not have, or whose trials are all missing.
    """
    _check(study, factor, levels, only)
    if factor in study.record.factors:
        chosen = _chosen(study, only, progress)
        of_levels = {
            level: (study, [group for group in chosen if group.factors[factor] == level])
            for level in levels
        }
    else:
        parts = {name: _on_machines(study, {name}) for name in levels}
        of_levels = {name: (part, _chosen(part, only, progress)) for name, part in parts.items()}
    sides = [Side(f"{factor}={level}", *found, factor) for level, found in of_levels.items()]
    for side in sides:
        if not side.groups:
            what = f"no trial with {side.name} has finished"
            raise BadInput(what, str(study.directory), f"delaylab run --resume {study.directory}")
    return _with_first(sides, factor)


def _chosen(study: Study, only: Mapping[str, set[str]], progress: Progress) -> list[Group]:
    """Return the groups of a study's trials with the wanted levels, on the wanted machines."""
    of_factors = {name: wanted for name, wanted in only.items() if name in study.record.factors}
    if of_factors.keys() != only.keys():
        study = _on_machines(study, only[MACHINE])
    return [
        group
        for group in groups(study, progress)
        if all(group.factors[name] in wanted for name, wanted in of_factors.items())
    ]


def _on_machines(study: Study, names: Collection[str]) -> Study:
    """Return a study with the trials that some machines ran."""
    return replace(study, trials=[each for each in study.trials if each.machine in names])


def _with_first(sides: list[Side], factor: str = "") -> Comparison:
    return Comparison(sides, [compare_sides(sides[0], other) for other in sides[1:]], factor)


def _check(study: Study, factor: str, levels: Sequence[str], only: Mapping[str, set[str]]) -> None:
    where = str(study.directory)
    factors = _factors(study)
    for name, wanted in {**only, factor: set(levels)}.items():
        known = factors.get(name)
        if known is None:
            listed = ", ".join(factors) or "none"
            raise BadInput(f"the study has no factor {name!r}", where, f"its factors: {listed}")
        for level in sorted(wanted - set(known)):
            what = f"factor {name!r} has no level {level!r}"
            raise BadInput(what, where, f"its levels: {', '.join(known)}")
    if factor in only:
        raise BadInput(f"--only {factor}=… is about the factor whose levels are compared", where)
    if len(set(levels)) < max(FEWEST, len(levels)):
        what = "two or more different levels of one factor are compared"
        known = factors[factor]
        fix = " ".join(f"{factor}={level}" for level in known[:3])
        raise BadInput(what, where, f"for example: delaylab compare {where} {fix}")


def _factors(study: Study) -> dict[str, list[str]]:
    """Return the levels of each factor by its name.

    If several machines ran trials, they are the levels of a factor `machine`.
    """
    machines = sorted({each.machine for each in study.trials if each.machine is not None})
    factors = {name: list(levels) for name, levels in study.record.factors.items()}
    return {MACHINE: machines, **factors} if len(machines) > 1 else factors
