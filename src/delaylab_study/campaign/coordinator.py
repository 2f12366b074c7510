"""The coordinator of a campaign: an executor that runs a study's blocks on several machines.

What is on disk is done, and nothing else is: the coordinator alone writes the dataset, and whatever
machines or a scheduler know of a trial without an outcome is of no account.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from delaylab.api.errors import DelaylabError
from delaylab_study.campaign.parcel import Declared, TrialJob, opened
from delaylab_study.campaign.schedule import MOST_FAILED, BlockSchedule
from delaylab_study.campaign.seats import (
    MachineJoined,
    MachineLeft,
    MachineRefused,
    News,
    Seats,
    TrialBroke,
    TrialEnded,
)
from delaylab_study.dataset.records.rates import HeldRate
from delaylab_study.study.block_rates import Key, recorded_rates
from delaylab_study.study.executor import Executor, OnStart, without_data
from delaylab_study.study.job import Block, RanOn, TrialOutcome
from delaylab_study.study.order import now

PATIENCE_S = 60.0
"""The time for which a campaign waits for a machine when there is none."""
GATHER_S = 10.0
"""The longest time for which a campaign waits for what machines are, before it begins."""

STEP_S = 0.1
"""The time between two looks whether a machine is still awaited."""

Say = Callable[[str], None]
"""A function that tells a person what happened."""


class Campaign(Executor):
    """The executor on many machines; they join and leave as they like."""

    def __init__(self, seats: Seats, study: Path, say: Say) -> None:
        self._seats, self._say = seats, say
        self._study = (study / "study.json").read_bytes()
        self._campaign = secrets.token_hex(8)
        self._declared: dict[str, Declared] = {}
        self._rates: dict[str, dict[Key, HeldRate]] = {}
        self._told: set[str] = set()

    def run(self, blocks: Sequence[Block], on_start: OnStart) -> Iterator[TrialOutcome]:
        """Run the trials of all blocks, each block on one machine at a time."""
        schedule = BlockSchedule(blocks)
        captures = {trial.id: block.captures for block in blocks for trial in block.trials}
        self._gather(schedule)
        while not schedule.is_done:
            self._begin(schedule, on_start, captures)
            news = self._next(schedule)
            if isinstance(news, TrialEnded):
                yield from self._ended(schedule, news, captures)
            elif news is not None:
                yield from self._changed(schedule, news)

    def _gather(self, schedule: BlockSchedule) -> None:
        """Take in the machines that are there, so that the fittest are known before a trial."""
        end_s = time.monotonic() + GATHER_S
        joined: list[MachineJoined] = []
        while self._seats.awaited() and (left_s := end_s - time.monotonic()) > 0:
            news = self._seats.heard(min(left_s, STEP_S))
            if isinstance(news, MachineJoined):
                joined.append(news)
            elif news is not None:
                joined = [each for each in joined if each.name != news.name]
                list(self._changed(schedule, news))
        for each in sorted(joined, key=lambda each: len(each.declared.unfit)):
            self._joined(schedule, each.name, each.declared)

    def _begin(
        self, schedule: BlockSchedule, on_start: OnStart, captures: Mapping[str, Path | None]
    ) -> None:
        """Let each machine that is free run its next trial."""
        for name in schedule.usable:
            trial = schedule.next_for(name)
            if trial is None:
                continue
            on_start(trial, name)
            known = self._rates.setdefault(name, {})
            pcap = captures[trial.id] is not None
            job = TrialJob(self._campaign, self._study, trial.id, dict(known), pcap)
            self._seats.begin(name, job)

    def _next(self, schedule: BlockSchedule) -> News | None:
        """Return the next news, None if there is none yet.

        Raise DelaylabError if no machine comes that could go on. One that was asked what it is may
        first have to end the trial of a run that was killed.
        """
        news = self._seats.heard(PATIENCE_S)
        if news is not None or schedule.running or self._seats.awaited():
            return news
        aside = ", ".join(schedule.aside)
        set_aside = f"; set aside: {aside}" if aside else ""
        what = f"no machine to run {schedule.left} trials on{set_aside}"
        raise DelaylabError(what, fix="start `delaylab worker` on a machine, then resume the run")

    def _changed(self, schedule: BlockSchedule, news: News) -> Iterator[TrialOutcome]:
        """Take in that machines came or went; yield the outcome of a trial that is set aside."""
        match news:
            case MachineJoined(name, declared):
                self._joined(schedule, name, declared)
            case MachineRefused(name, why):
                self._once(f"machine {name} is not used: {why}")
                if name in schedule.running:
                    yield from self._lost(schedule, name, why)
            case MachineLeft(name, why):
                if name in self._declared:
                    self._once(f"machine {name} is gone: {why}")
                    yield from self._lost(schedule, name, why)
            case TrialBroke(name, trial, why):
                self._say(f"machine {name}: trial {trial}: {why}")
                yield from self._lost(schedule, name, why)
                schedule.joined(name)
            case TrialEnded():
                pass  # of a trial that this run did not ask for

    def _joined(self, schedule: BlockSchedule, name: str, declared: Declared) -> None:
        if declared.differs:
            self._once(f"machine {name} is not used: the study {declared.differs}")
            return
        fewest = min((len(each.unfit) for each in self._declared.values()), default=None)
        if fewest is not None and len(declared.unfit) > fewest:
            self._unfit(name, declared)
            return
        self._declared[name] = declared
        schedule.joined(name)
        for other in schedule.usable:
            if len(self._declared[other].unfit) > len(declared.unfit):
                self._unfit(other, self._declared[other])
                schedule.dismissed(other)

    def _unfit(self, name: str, declared: Declared) -> None:
        trial, why = next(iter(declared.unfit.items()))
        self._once(f"machine {name} is not used: it cannot run trial {trial}: {why}")

    def _lost(self, schedule: BlockSchedule, name: str, why: str) -> Iterator[TrialOutcome]:
        trial = schedule.lost(name)
        if trial is not None:
            machines = ", ".join(schedule.took(trial.id))
            reason = f"set aside: machines ended while they ran it: {machines}; at last: {why}"
            self._say(f"trial {trial.id} is {reason}")
            yield self._of(name, without_data(trial, now(), "failed", reason))

    def _ended(
        self, schedule: BlockSchedule, news: TrialEnded, captures: Mapping[str, Path | None]
    ) -> Iterator[TrialOutcome]:
        """Yield a trial's outcome, unless it was there or is to be tried elsewhere."""
        trial = schedule.running.get(news.name)
        if trial is None or trial.id != news.trial:
            return
        outcome = opened(news.parcel, trial, captures[trial.id])
        taken = schedule.ended(news.name, trial, outcome.status)
        for name, failed in schedule.aside.items():
            what = f"machine {name} is set aside: {MOST_FAILED} trials failed on it alone"
            self._once(f"{what}: {', '.join(failed)}")
        if taken == "again":
            self._say(
                f"trial {trial.id} failed on {news.name} and is tried elsewhere: {outcome.reason}"
            )
        if taken == "keep":
            self._rates[news.name] |= recorded_rates(trial, outcome.record)
            yield self._of(news.name, outcome)

    def _of(self, name: str, outcome: TrialOutcome) -> TrialOutcome:
        """Return an outcome with the machine that it is of."""
        return replace(outcome, ran_on=RanOn(name, self._declared[name].record()))

    def _once(self, what: str) -> None:
        if what not in self._told:
            self._told.add(what)
            self._say(what)
