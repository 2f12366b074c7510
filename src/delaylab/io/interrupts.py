"""Ctrl-C (SIGINT): put off while something must not be left half-done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def deferred() -> Iterator[None]:
    """Put off Ctrl-C until the block has ended; it then raises KeyboardInterrupt.

    Outside of the main thread, where Python handles no signals, this does nothing.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    came: list[FrameType | None] = []
    signal.signal(signal.SIGINT, lambda _number, frame: came.append(frame))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            before(signal.SIGINT, came[0])


def ignore() -> None:
    """Ignore Ctrl-C from now on: the program has done its work and is about to end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
