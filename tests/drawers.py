"""Processes that draw reports, kept from one report to the next.

A report starts two, and ends them with it. To start, they take more CPU time than most reports of
tests take to draw. `tests/report/test_drawn_beside.py` has processes of its own.
"""

from __future__ import annotations

from types import TracebackType
from typing import ClassVar

from delaylab.charts.drawn_beside import SecondProcess


class KeptProcess:
    """Stands for a `SecondProcess`: a context with one that was kept, else with a new one."""

    _idle: ClassVar[list[SecondProcess]] = []

    def __enter__(self) -> SecondProcess:
        """Take the process that was given back last, since it has drawn the same before."""
        self._process = self._idle.pop() if self._idle else SecondProcess().__enter__()
        return self._process

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give the process back. What it has still to draw comes before the next request."""
        self._idle.append(self._process)

    @classmethod
    def end_all(cls) -> None:
        """End the processes."""
        while cls._idle:
            cls._idle.pop().__exit__(None, None, None)
