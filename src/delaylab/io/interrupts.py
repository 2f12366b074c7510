"""Ctrl-C (SIGINT): put off while something must not be left half-done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

IMPORTING = "<frozen importlib._bootstrap>"
"""File name of Python's code that imports modules."""
RUST_CALLERS = frozenset({"polars", "pydantic"})
"""Packages whose Rust code calls Python's. pydantic's catches KeyboardInterrupt while it builds
validators, and goes on with a damaged model; polars' panics."""
AGAIN_S = 0.001
"""The time in seconds after which a Ctrl-C that was put off is sent again."""


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


def put_off_in_libraries() -> None:
    """From now on, let Ctrl-C wait while a module is imported or a Rust library works.

    Call this in the main thread.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored
        signal.signal(signal.SIGINT, _interrupt)
        # Whoever handles Ctrl-C by then, such as `deferred`, gets it.
        signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))


def _interrupt(_number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, or send the signal again soon if a library must not see it."""
    while frame is not None:
        package, _, _ = str(frame.f_globals.get("__name__")).partition(".")
        if package in RUST_CALLERS or frame.f_code.co_filename == IMPORTING:
            signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
            return
        frame = frame.f_back
    raise KeyboardInterrupt


def forget() -> None:
    """Drop a Ctrl-C that still waits, since the program ends; further ones end it at once."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    if signal.getsignal(signal.SIGINT) is _interrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def ignore() -> None:
    """Ignore Ctrl-C from now on: the program has done its work and is about to end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
