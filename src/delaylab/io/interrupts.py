"""Ctrl-C (SIGINT): put off while something must not be left half-done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

PREPARING = ("<frozen importlib._bootstrap>", "pydantic/_internal/_mock_val_ser.py")
"""Ends of the file names of code that prepares modules and models: Python's code that imports, and
pydantic's that builds the validators of a model when it is first used."""
AGAIN_S = 0.001
"""The time in seconds after which a Ctrl-C that came during preparation is sent again."""


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


def put_off_while_preparing() -> None:
    """From now on, let Ctrl-C wait while a module or a model is prepared, then interrupt.

    pydantic's Rust code catches KeyboardInterrupt while it builds validators, and goes on with a
    damaged model. Call this in the main thread.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored
        signal.signal(signal.SIGINT, _interrupt)
        # Whoever handles Ctrl-C by then, such as `deferred`, gets it.
        signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))


def _interrupt(_number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, or send the signal again soon if preparing code is running."""
    while frame is not None:
        if frame.f_code.co_filename.endswith(PREPARING):
            signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
            return
        frame = frame.f_back
    raise KeyboardInterrupt


def forget() -> None:
    """Drop a Ctrl-C that still waits, since the program ends; Python handles further ones."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    if signal.getsignal(signal.SIGINT) is _interrupt:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def ignore() -> None:
    """Ignore Ctrl-C from now on: the program has done its work and is about to end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
