"""The runner of a study: a schedule of blocks, an executor that runs them, and the dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path

from delaylab.api.files import own_folder
from delaylab_study.dataset import store
from delaylab_study.study.block_rates import recalled
from delaylab_study.study.executor import Executor, OnStart
from delaylab_study.study.job import Block, TrialOutcome
from delaylab_study.study.order import Planned


def run(
    out: Path,
    planned: list[Planned],
    executor: Executor,
    on_end: Callable[[TrialOutcome], None],
    on_start: OnStart,
    *,
    pcap: bool = False,
) -> list[TrialOutcome]:
    """Run the trials that are not finished yet, and return their outcomes.

    A trial that fails is recorded as failed, and the study goes on. A trial whose lab does not fit
    on its machine is skipped. If the dataset cannot be written, the study ends; finished trials are
    kept. Raise DelaylabError at once if another run measures into the dataset.

    With `pcap` the packets themselves are kept, too, below `pcap/`.
    """
    outcomes = []
    with store.locked(out):
        captures = out / "pcap" if pcap else None
        if captures is not None:
            own_folder(captures)
        for block in blocks(out, planned, captures):
            for outcome in executor.run(block, on_start):
                store.write_trial(out, outcome.record, outcome.tables)
                on_end(outcome)
                outcomes.append(outcome)
        store.write_trials_table(out)
    return outcomes


def blocks(out: Path, planned: list[Planned], captures: Path | None) -> Iterator[Block]:
    """Yield the trials by repeat, since those of a repeat may share rates."""
    done = frozenset(store.finished(out))
    known = recalled(out, planned, done)
    for _, trials in groupby(planned, key=lambda item: item.repeat):
        yield Block(tuple(trials), done, known, captures)
