"""A progress bar on a terminal, for verbs that may take over two seconds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from delaylab.progress import Progress as Report
from delaylab.progress import silent

if TYPE_CHECKING:
    from rich.console import Console


@contextmanager
def bar(console: Console) -> Iterator[Report]:
    """Show on a terminal what is being done, in a line that disappears; elsewhere show nothing."""
    if not console.is_terminal:
        yield silent
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
