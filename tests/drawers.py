"""Processes that draw reports, kept from one report to the next.

A report outside of tests starts two, and ends them. Starting them takes more CPU time than drawing
most reports of tests. `tests/report/test_drawn_beside.py` has processes of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from delaylab_study.charts.drawn_beside import SecondProcess

_idle: list[SecondProcess] = []


@contextmanager
def kept_process() -> Iterator[SecondProcess]:
    """Lend the process that was given back last, since it has drawn the same before, or a new one.

    Stands for `SecondProcess`. What a borrower leaves undrawn comes before the next one's requests.
    """
    process = _idle.pop() if _idle else SecondProcess().__enter__()
    try:
        yield process
    finally:
        _idle.append(process)


def end_all() -> None:
    """End the processes."""
    while _idle:
        _idle.pop().__exit__(None, None, None)
