"""The runner of a study: a schedule of blocks, an executor that runs them, and the dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from delaylab.api.files import own_folder
from delaylab.api.names import HERE
from delaylab.api.records import LOCAL_NAME
from delaylab_study.dataset import store
from delaylab_study.dataset.machines import with_machine
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
        for arrived in executor.run([*blocks(out, planned, captures)], on_start):
            outcome = _of_machine(out, arrived)
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


def _of_machine(out: Path, outcome: TrialOutcome) -> TrialOutcome:
    """Return an outcome with the machine that it is of; a new machine is added to the dataset.

    A trial knows the machine that ran it as `local`. If that is another one than the dataset's, the
    trial's hosts get its name. A trial without data does not say where its hosts were.
    """
    if outcome.ran_on is None:
        return outcome
    name = with_machine(out, outcome.ran_on.name, outcome.ran_on.machine)
    known = outcome.record.hosts
    planned = outcome.planned.combination.lab.hosts or (HERE,)
    hosts = {host: known.get(host, LOCAL_NAME) for host in known or planned}
    hosts = {host: name if each == LOCAL_NAME else each for host, each in hosts.items()}
    return replace(outcome, record=outcome.record.model_copy(update={"hosts": hosts}))
