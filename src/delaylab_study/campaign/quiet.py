"""Quiet of a worker while a trial measures: its own timers do not run.

A dask worker wakes up some fifty times a second for its ticks, monitors and heartbeats (distributed
issues 5000 and 2156). Heartbeats go on, at `BEAT_S`, so that the scheduler keeps the worker.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from distributed import Worker

BEAT_S = 30.0
"""The time between heartbeats while a trial measures; a scheduler waits for 5 minutes."""


@contextmanager
def quiet(worker: Worker) -> Iterator[None]:
    """Stop a worker's timers for a block; called from the thread of a task."""
    beats = _Beats(worker)
    worker.loop.add_callback(beats.begin)
    try:
        yield
    finally:
        worker.loop.add_callback(beats.end)


class _Beats:
    """The timers of a worker, stopped; its heartbeats are sent by hand."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._stopped = False
        self._next: object = None

    def begin(self) -> None:
        """Stop the timers; called in the worker's loop."""
        for timer in self._worker.periodic_callbacks.values():
            timer.stop()
        self._stopped = True
        self._next = self._worker.loop.call_later(BEAT_S, self._beat)

    def end(self) -> None:
        """Start the timers again; called in the worker's loop."""
        if not self._stopped:
            return
        self._stopped = False
        self._worker.loop.remove_timeout(self._next)
        if self._worker.status.name == "running":
            for timer in self._worker.periodic_callbacks.values():
                timer.start()

    async def _beat(self) -> None:
        if self._stopped:
            self._next = self._worker.loop.call_later(BEAT_S, self._beat)
            await self._worker.heartbeat()
