"""The runner of a study's trials: it shares labs, retries failures and records every outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from delaylab import loads
from delaylab.dataset import store
from delaylab.dataset.records.tables import TABLES
from delaylab.dataset.records.trial import Measurement, TrialRecord
from delaylab.errors import DelaylabError, DoesNotFit
from delaylab.io.files import own_folder
from delaylab.lab.running import Lab
from delaylab.lab.start import temporary
from delaylab.progress import Progress, silent
from delaylab.spec.lab import LabSpec
from delaylab.study.block_rates import BlockRates
from delaylab.study.order import Planned, now
from delaylab.trial import measure, without_probe
from delaylab.trial.recording import Recorded

TRIES = 2
"""The number of tries per trial: a failed one is tried again in a new lab, then kept as failed."""


@dataclass(frozen=True)
class Outcome:
    """The end of one trial: `ok`, `failed` or `skipped`, with the reason."""

    planned: Planned
    status: str
    reason: str | None


def run(
    out: Path,
    planned: list[Planned],
    on_end: Callable[[Outcome], None],
    on_start: Callable[[Planned], None],
    *,
    pcap: bool = False,
    progress: Progress = silent,
) -> list[Outcome]:
    """Run the trials that are not finished yet, and return their outcomes.

    A trial that fails is recorded as failed, and the study goes on. A trial whose lab does not fit
    on this machine is skipped. If the dataset cannot be written, the study ends; finished trials
    are kept. Raise DelaylabError at once if another run measures into the dataset.

    With `pcap` the packets themselves are kept, too, below `pcap/`.
    """
    with store.locked(out):
        return _run(out, planned, on_end, on_start, pcap=pcap, progress=progress)


def _run(
    out: Path,
    planned: list[Planned],
    on_end: Callable[[Outcome], None],
    on_start: Callable[[Planned], None],
    *,
    pcap: bool,
    progress: Progress,
) -> list[Outcome]:
    done = store.finished(out)
    if pcap:
        own_folder(out / "pcap")
    outcomes = []
    rates = BlockRates(planned)
    rates.recall(out, done)
    with bench(progress) as shared:
        for item in planned:
            if item.id in done:
                continue
            on_start(item)
            kept = out / "pcap" / item.id if pcap else None
            outcome = _run_one(shared, rates, out, item, kept, on_start)
            on_end(outcome)
            outcomes.append(outcome)
    store.write_trials_table(out)
    return outcomes


class Bench:
    """A holder of one running lab, which the next trial reuses if only its load or probe differ."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._spec: LabSpec | None = None
        self._held: AbstractContextManager[Lab] | None = None
        self._lab: Lab | None = None

    def lab(self, spec: LabSpec) -> Lab:
        """Return a running lab of this specification, started if it is not the present one."""
        if self._lab is None or spec != self._spec:
            self.clear()
            held = temporary(spec, progress=self._progress)
            self._lab, self._held, self._spec = held.__enter__(), held, spec
        return self._lab

    def end_trial(self) -> None:
        """Close all sessions; the lab keeps running."""
        if self._lab is not None:
            self._lab.close()

    def clear(self) -> None:
        """Take the lab down, if one is up."""
        held, self._held, self._lab = self._held, None, None
        if held is not None:
            held.__exit__(None, None, None)


@contextmanager
def bench(progress: Progress) -> Iterator[Bench]:
    """Provide a bench for one lab at a time; its lab is taken down on every exit."""
    shared = Bench(progress)
    try:
        yield shared
    finally:
        shared.clear()


def _run_one(
    shared: Bench,
    rates: BlockRates,
    out: Path,
    item: Planned,
    pcap: Path | None,
    on_start: Callable[[Planned], None],
) -> Outcome:
    started = now()
    status, reason = "failed", ""
    for _ in range(TRIES):
        try:
            found = rates.of(item, shared.lab)
            lab = shared.lab(item.combination.lab)
            on_start(item)  # the start of its lab may have told of itself meanwhile
            recording = _measured(lab, item, pcap, found)
        except DoesNotFit as error:
            status, reason = "skipped", str(error)
            break
        except DelaylabError as error:
            reason = str(error)
            shared.clear()
        else:
            # First of all it is kept: what follows may fail.
            record = _record(item, started, recording.record, "ok", None)
            store.write_trial(out, record, recording.tables)
            if any(work.failed for work in recording.record.work):
                shared.clear()  # what ended a node's work may have ended the node
            else:
                shared.end_trial()
            return Outcome(item, "ok", None)
    empty = {name: pl.DataFrame(schema=dict(schema)) for name, schema in TABLES.items()}
    store.write_trial(out, _record(item, started, Measurement(), status, reason), empty)
    return Outcome(item, status, reason)


def _measured(lab: Lab, item: Planned, pcap: Path | None, rates: list[loads.FoundRate]) -> Recorded:
    if item.combination.probe is None:
        return without_probe.measure(lab, item.combination, rates)
    return measure.measure(lab, item.combination, item.index + 1, pcap, rates)


def _record(
    item: Planned, started: str, measurement: Measurement, status: str, reason: str | None
) -> TrialRecord:
    """Return the record of a trial that ends now."""
    return store.trial_record(
        {
            "id": item.id,
            "index": item.index,
            "factors": item.combination.levels,
            "repeat": item.repeat,
            "status": status,
            "reason": reason,
            "started": started,
            "ended": now(),
            **{name: getattr(measurement, name) for name in Measurement.model_fields},
        }
    )
