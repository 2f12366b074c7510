"""The byte stream under a session, and one loop that waits for several streams."""

from __future__ import annotations

import math
import os
import select
import time
from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

WRITE_S = 60.0
"""Seconds that an agent may take to make room for what is sent to it."""


class Readable(Protocol):
    """A source of bytes that can be waited for."""

    def fileno(self) -> int:
        """Return the descriptor that is readable when something has come."""


ReadableT = TypeVar("ReadableT", bound=Readable)


class Stream(Readable, Protocol):
    """A byte stream to an agent, in both directions."""

    def read(self, most: int) -> bytes:
        """Return bytes that have come, at most so many; wait for the first. Empty at the end."""

    def write(self, data: memoryview) -> int:
        """Write a part of the bytes; return how many. Raises OSError if the other end is gone."""

    def close(self) -> None:
        """Close the stream; its descriptor may be that of another file soon."""

    def why_ended(self) -> str | None:
        """Return why the stream has ended if it is not its agent that did, else None."""


def _unknown() -> str | None:
    return None


class Descriptors(Stream):
    """A stream of open descriptors: a socket's, or those of two pipes. `end` closes them.

    `why` says why the stream has ended, if not by its agent.
    """

    def __init__(
        self,
        reader: int,
        writer: int,
        end: Callable[[], None],
        why: Callable[[], str | None] = _unknown,
    ) -> None:
        self._reader, self._writer, self._end, self._why = reader, writer, end, why

    def fileno(self) -> int:
        """Return the descriptor that is read."""
        return self._reader

    def read(self, most: int) -> bytes:
        """Read once; a connection that was reset is at its end."""
        try:
            return os.read(self._reader, most)
        except ConnectionError:
            return b""

    def write(self, data: memoryview) -> int:
        """Write once, as much as there surely is room for; raise TimeoutError if there is none."""
        poll = select.poll()
        poll.register(self._writer, select.POLLOUT)
        if not poll.poll(WRITE_S * 1000):
            raise TimeoutError(f"it takes no input within {WRITE_S:g} s")
        return os.write(self._writer, data[: select.PIPE_BUF])

    def close(self) -> None:
        """Close the descriptors."""
        self._end()

    def why_ended(self) -> str | None:
        """Return why the stream has ended if it is not its agent that did, else None."""
        return self._why()


class Loop:
    """Sources that are waited for together, each with the function that reads what has come.

    The function returns False once there is nothing more to wait for in its source.
    """

    def __init__(self) -> None:
        self._poll = select.poll()
        self._readers: dict[int, Callable[[], bool]] = {}

    def add(self, source: Readable, read: Callable[[], bool]) -> None:
        """Wait for a source from now on."""
        self._readers[source.fileno()] = read
        self._poll.register(source.fileno(), select.POLLIN)

    def run(self, done: Callable[[], bool], end_s: float = math.inf) -> bool:
        """Read what comes until `done` returns True; return False at a monotonic time in s."""
        while not done():
            left_s = end_s - time.monotonic()
            if left_s <= 0:
                return False
            for descriptor, _ in self._poll.poll(None if left_s == math.inf else left_s * 1000):
                if not self._readers[descriptor]():
                    self._poll.unregister(descriptor)
        return True


def readable(source: Readable, timeout_s: float | None) -> bool:
    """Wait until something can be read; return False after `timeout_s` seconds."""
    return bool(ready([source], timeout_s))


def ready(sources: Iterable[ReadableT], timeout_s: float | None) -> list[ReadableT]:
    """Wait until some sources can be read; return them, or none after `timeout_s` seconds."""
    poll, known = select.poll(), {source.fileno(): source for source in sources}
    for descriptor in known:
        poll.register(descriptor, select.POLLIN)
    found = poll.poll(None if timeout_s is None else max(0, round(timeout_s * 1000)))
    return [known[descriptor] for descriptor, _ in found]
