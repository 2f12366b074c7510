"""A progress bar on a terminal, for verbs that may take over two seconds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from delaylab.progress import Progress as Report
from delaylab.progress import silent


@contextmanager
def bar(console: Console) -> Iterator[Report]:
    """Show on a terminal what is being done, in a line that disappears; elsewhere show nothing."""
    if not console.is_terminal:
        yield silent
        return
    said = TextColumn("{task.description}", markup=False)
    columns = (said, BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as shown:
        task = shown.add_task("", total=1.0, visible=False)

        def report(what: str, share: float) -> None:
            shown.update(task, description=what, completed=share, visible=True)

        yield report
