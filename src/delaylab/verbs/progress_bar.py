"""Progress of a verb: a bar on a terminal, elsewhere a line for each stage that lasts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import TYPE_CHECKING

from delaylab.progress import Progress as Report
from delaylab.progress import silent

if TYPE_CHECKING:
    from rich.console import Console

MARK = "at work: "
"""The beginning of a line about what lasts."""
QUIET_S = 10.0
"""The time for which a stage lasts before it has a line: most verbs are done by then."""
REPEAT_S = 60.0
"""The time after which there is a line again."""
LOOK_S = 2.0
"""The time between looks at what is being done."""


@contextmanager
def bar(console: Console) -> Iterator[Report]:
    """Show on a terminal what is being done, in a line that disappears; elsewhere as `lines`."""
    if not console.is_terminal:
        with lines(console) as report:
            yield report
        return
    from rich.progress import (  # noqa: PLC0415  takes 5 ms; output that is piped needs none
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    said = TextColumn("{task.description}", markup=False)
    columns = (said, BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as shown:
        task = shown.add_task("", total=1.0, visible=False)

        def report(what: str, share: float) -> None:
            shown.update(task, description=what, completed=share, visible=True)

        yield report


@contextmanager
def lines(console: Console, clock: Callable[[], float] = time.monotonic) -> Iterator[Report]:
    """Print a line for each stage that lasts, for a log; on a terminal print nothing."""
    if console.is_terminal:
        yield silent
        return
    stages, end = Stages(clock), Event()

    def print_lines() -> None:
        while not end.wait(LOOK_S):
            # A log that nobody takes any more is found by the verb itself.
            with suppress(OSError, ValueError):
                for line in stages.due():
                    console.print(line, soft_wrap=True)

    thread = Thread(target=print_lines, daemon=True)
    thread.start()
    try:
        yield stages.report
    finally:
        end.set()
        thread.join()


class Stages:
    """The stage that is being done, and when a line about it is due.

    A stage has one once it has lasted for `QUIET_S`. If stages are short, or one lasts on, there is
    a line each `REPEAT_S`.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._stage = ("", clock())
        self._printed, self._printed_s = "", clock()

    def report(self, what: str, share: float) -> None:
        """Take what is being done now."""
        if what != self._stage[0]:
            self._stage = what, self._clock()

    def due(self) -> Iterator[str]:
        """Give the line that is due, if there is one."""
        (what, began_s), now_s = self._stage, self._clock()
        again = now_s - self._printed_s >= REPEAT_S
        if not what or not (again or (what != self._printed and now_s - began_s >= QUIET_S)):
            return
        lasted = f" ({now_s - began_s:.0f} s)" if what == self._printed else ""
        self._printed, self._printed_s = what, now_s
        yield f"{MARK}{what}{lasted}"
