"""Blocks of a dataset: trials that ran on one machine, one for each combination of levels."""

from __future__ import annotations

from collections.abc import Sequence

from delaylab_study.dataset.records.trial import TrialRecord


def numbered(trials: Sequence[TrialRecord]) -> None:
    """Note the block of each trial.

    A block has the number of its repeat. If a machine was lost while it ran a repeat, the trials
    that another machine ran are a block of their own, with a number above those of all repeats:
    they are not compared with those of the first machine as if nothing else had changed.
    """
    above = max((trial.repeat for trial in trials), default=0)
    numbers: dict[tuple[int, str], int] = {}
    begun: set[int] = set()
    for trial in trials:
        machine = trial.machine or next(iter(trial.hosts.values()), None)
        if machine is None:
            continue
        place = trial.repeat, machine
        if place not in numbers:
            above += trial.repeat in begun
            numbers[place] = above if trial.repeat in begun else trial.repeat
            begun.add(trial.repeat)
        trial.of_block(numbers[place])
