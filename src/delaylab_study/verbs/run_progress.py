"""Progress of a run, live in a terminal: trials done, what runs where, and the time left."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import ExitStack
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.progress import (
    BarColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from delaylab.api.progress import Progress as Report
from delaylab.api.progress import silent
from delaylab.api.terminal import lines
from delaylab_study.study.job import TrialOutcome
from delaylab_study.study.order import Planned


class RunProgress:
    """The progress of a run. Without a terminal, lines tell of what lasts.

    Trials differ in length: progress counts the time in s that each is `expected` to take, and the
    bar corrects the rest by the time that earlier trials took. `done` are the trials on disk.
    """

    def __init__(
        self, console: Console, expected: Mapping[str, float], done: Collection[str]
    ) -> None:
        self._console, self._expected, self._count = console, expected, len(done)
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[trials]}", markup=False),
            TimeRemainingColumn(),
        )
        self._machines = Progress(
            TextColumn("  {task.description}", markup=False), TimeElapsedColumn()
        )
        self._live = Live(Group(self._bar, self._machines), console=console, transient=True)
        self._rows: dict[str, TaskID] = {}
        self._said: Report = silent
        self._stack = ExitStack()
        self._main = self._bar.add_task("", total=sum(expected.values()), trials="")
        self._bar.advance(self._main, sum(expected[name] for name in expected if name in done))

    def __enter__(self) -> RunProgress:
        """Show it."""
        self._said = self._stack.enter_context(lines(self._console))
        self._stack.enter_context(self._live)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take it off the terminal."""
        self._stack.close()

    def started(self, trial: Planned, machine: str) -> None:
        """Show that a trial runs; `machine` is where, "" if there is one machine only."""
        if machine:
            self._drop(machine)
            self._rows[machine] = self._machines.add_task(f"{machine}  {trial.id}")
        self._show(f"{len(self._rows)} at work" if machine else trial.id)
        where = f"{machine}: " if machine else ""
        self._said(f"{where}trial {self._count + 1} of {len(self._expected)}: {trial.id}", 0)

    def ended(self, outcome: TrialOutcome) -> None:
        """Show that a trial has ended and is kept."""
        self._count += 1
        self._bar.advance(self._main, self._expected[outcome.planned.id])
        if outcome.ran_on is not None:
            self._drop(outcome.ran_on.name)

    def building(self, what: str, share: float) -> None:
        """Show what is built before a trial can run."""
        self._bar.update(self._main, description=f"{what} {share:.0%}" if share else what)
        self._said(what, share)

    def say(self, what: str) -> None:
        """Print a line that stays."""
        self._console.print(f"delaylab: {what}", markup=False, soft_wrap=True)

    def _show(self, description: str) -> None:
        trials = f"{self._count}/{len(self._expected)}"
        self._bar.update(self._main, description=description, trials=trials)

    def _drop(self, machine: str) -> None:
        row = self._rows.pop(machine, None)
        if row is not None:
            self._machines.remove_task(row)
