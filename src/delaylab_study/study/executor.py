"""Execution of a study's trials on a machine: labs are shared, failures are tried again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Protocol

import polars as pl

from delaylab.api.agents import Unreachable
from delaylab.api.errors import DelaylabError, DoesNotFit
from delaylab.api.files import one_line
from delaylab.api.lab import Lab
from delaylab.api.machines import LOCAL, Machine
from delaylab.api.progress import Progress, silent
from delaylab.api.running import LiveLab, temporary
from delaylab_study import loads
from delaylab_study.dataset import store
from delaylab_study.dataset.records.tables import TABLES
from delaylab_study.dataset.records.trial import Measurement, Status, TrialRecord
from delaylab_study.study.block_rates import BlockRates
from delaylab_study.study.job import Block, TrialOutcome
from delaylab_study.study.order import Planned, now
from delaylab_study.trial import measure, without_probe
from delaylab_study.trial.recording import Recorded

TRIES = 2
"""The number of tries per trial: a failed one is tried again in a new lab, then kept as failed."""

UNRECORDABLE = (ArithmeticError, LookupError, ValueError, pl.exceptions.PolarsError)
"""Exceptions for numbers of nodes that are possible each, and make no sense together."""

OnStart = Callable[[Planned, str], None]
"""A function that is called when a trial begins, with its machine's name if there are several."""


class Executor(Protocol):
    """A runner of blocks; a block stays on one machine."""

    def run(self, blocks: Sequence[Block], on_start: OnStart) -> Iterator[TrialOutcome]:
        """Run the trials of blocks that are not finished; yield each one's outcome at its end.

        A trial that fails, or whose lab does not fit, has an outcome that says so. Before the next
        trial begins on its machine, the outcome is the caller's to keep.
        """


class Bench:
    """A holder of one running lab, which the next trial reuses if only its load or probe differ."""

    def __init__(self, machine: Machine, progress: Progress) -> None:
        self._machine, self._progress = machine, progress
        self._spec: Lab | None = None
        self._held: AbstractContextManager[LiveLab] | None = None
        self._lab: LiveLab | None = None

    def lab(self, spec: Lab) -> LiveLab:
        """Return a running lab of this specification, started if it is not the present one."""
        if self._lab is None or spec != self._spec:
            self.close()
            held = temporary(spec, progress=self._progress, machine=self._machine)
            self._lab, self._held, self._spec = held.__enter__(), held, spec
        return self._lab

    def lost(self) -> str | None:
        """Return the name of a machine of the lab to which the connection has ended, if one has."""
        machines = {} if self._lab is None else self._lab.machines
        return next((name for name, each in machines.items() if each.is_cut_off()), None)

    def end_trial(self) -> None:
        """Close all sessions; the lab keeps running."""
        if self._lab is not None:
            self._lab.close()

    def close(self) -> None:
        """Take the lab down, if one is up."""
        held, self._held, self._lab = self._held, None, None
        if held is not None:
            held.__exit__(None, None, None)


class Here(Executor):
    """The executor on one machine, by default this one. Its lab is taken down on every exit."""

    def __init__(self, machine: Machine = LOCAL, progress: Progress = silent) -> None:
        self._bench = Bench(machine, progress)

    def __enter__(self) -> Here:
        """Return the executor."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the lab down, if one is up."""
        self.close()

    def close(self) -> None:
        """Take the lab down, if one is up."""
        self._bench.close()

    def run(self, blocks: Sequence[Block], on_start: OnStart) -> Iterator[TrialOutcome]:
        """Run the blocks' trials one after the other."""
        for block in blocks:
            rates = BlockRates(block.trials, block.known)
            for item in block.trials:
                if item.id in block.finished:
                    continue
                on_start(item, "")
                captures = block.captures / item.id if block.captures else None
                outcome = self.run_trial(item, rates, captures, on_start)
                # First of all it is kept: what follows may fail.
                yield outcome
                self.after(outcome)

    def after(self, outcome: TrialOutcome) -> None:
        """Make the lab ready for another trial once the outcome of the last one is kept."""
        if any(work.failed for work in outcome.record.work):
            self._bench.close()  # what ended a node's work may have ended the node
        else:
            self._bench.end_trial()

    def run_trial(
        self,
        item: Planned,
        rates: BlockRates,
        captures: Path | None,
        on_start: OnStart = lambda _item, _machine: None,
    ) -> TrialOutcome:
        """Run one trial, a failed one twice; `captures` gets its packets, None if none are kept."""
        started = now()
        status: Status = "failed"
        reason, lost = "", None
        for _ in range(TRIES):
            try:
                found = rates.of(item, self._bench.lab)
                lab = self._bench.lab(item.combination.lab)
                on_start(item, "")  # the start of its lab may have told of itself meanwhile
                recorded = _measured(lab, item, captures, found)
                record = _record(item, started, recorded.record, "ok", None)
                tables = store.checked(record, recorded.tables)
            except DoesNotFit as error:
                status, reason = "skipped", one_line(str(error))
                break
            except UNRECORDABLE as error:
                lost = None
                line = (str(error).strip() or "no reason given").splitlines()[0]
                reason = f"what was measured cannot be recorded: {type(error).__name__}: {line}"
                self._bench.close()
            except DelaylabError as error:
                reason = one_line(str(error))
                lost = error.machine if isinstance(error, Unreachable) else self._bench.lost()
                self._bench.close()
            else:
                return TrialOutcome(item, record, tables)
        return without_data(item, started, status, reason, lost)


def without_data(
    item: Planned, started: str, status: Status, reason: str, lost: str | None = None
) -> TrialOutcome:
    """Return the outcome of a trial that was not measured; `lost` is the machine that was lost."""
    empty = {name: pl.DataFrame(schema=dict(schema)) for name, schema in TABLES.items()}
    record = _record(item, started, Measurement(), status, reason)
    return TrialOutcome(item, record.model_copy(update={"lost": lost}), empty)


def _measured(
    lab: LiveLab, item: Planned, pcap: Path | None, rates: list[loads.FoundRate]
) -> Recorded:
    if item.combination.probe is None:
        return without_probe.measure(lab, item.combination, rates)
    return measure.measure(lab, item.combination, item.index + 1, pcap, rates)


def _record(
    item: Planned, started: str, measurement: Measurement, status: Status, reason: str | None
) -> TrialRecord:
    """Return the record of a trial that ends now."""
    return store.trial_record(
        {
            "id": item.id,
            "index": item.index,
            "factors": item.combination.levels,
            "repeat": item.repeat,
            "identity": item.identity,
            "status": status,
            "reason": reason,
            "started": started,
            "ended": now(),
            **{name: getattr(measurement, name) for name in Measurement.model_fields},
        }
    )
