"""View of a running ping on a terminal: a sparkline of the last round trips, a histogram of all."""

from __future__ import annotations

import itertools
import time
from collections import Counter, deque
from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from delaylab.verbs.ping.lines import line, us
from delaylab.verbs.ping.result import PingPacket

BLOCKS = "▁▂▃▄▅▆▇█"
NO_ANSWER = "×"
STEPS = (1, 2, 5)
"""The bounds of the histogram's bins in each power of ten."""
REDRAW_S = 0.1
LISTED_NS = 10_000_000
"""Shortest interval at which each packet has a line on a terminal; nobody can read faster ones."""


class PingPicture:
    """The round trips so far, drawn for a terminal."""

    def __init__(self) -> None:
        self._recent = deque[int | None](maxlen=400)
        self._bins = Counter[int]()
        self._lost = 0

    def add(self, packet: PingPacket) -> None:
        """Add a packet."""
        self._recent.append(packet.rtt_user_ns)
        if packet.rtt_user_ns is None:
            self._lost += 1
        else:
            self._bins[_lower(packet.rtt_user_ns)] += 1

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width
        yield Text(self.sparkline(width), no_wrap=True, overflow="crop")
        for row in self.histogram(width):
            yield Text(row, no_wrap=True, overflow="crop")

    def sparkline(self, width: int) -> str:
        """Return the last round trips as blocks of eight heights, from the least to the largest."""
        known = [each for each in self._recent if each is not None]
        if not known:
            return f"{NO_ANSWER * min(width, len(self._recent))}"
        ends = f"{us(min(known))} … {us(max(known))} "
        shown = list(self._recent)[-max(1, width - len(ends)) :]
        low, span = min(known), max(1, max(known) - min(known))
        return ends + "".join(
            NO_ANSWER if rtt_ns is None else BLOCKS[(rtt_ns - low) * (len(BLOCKS) - 1) // span]
            for rtt_ns in shown
        )

    def histogram(self, width: int) -> Iterator[str]:
        """Yield a row for each bin from the first to the last that has a packet."""
        if not self._bins:
            return
        bounds = list(_bounds(min(self._bins), max(self._bins)))
        most = max(self._bins.values())
        for low, high in itertools.pairwise(bounds):
            count = self._bins[low]
            room = max(1, width - 30)
            bar = "█" * max(count * room // most, count > 0)
            yield f"{_short(low):>6} – {_short(high):<6} {count:>8}  {bar}"
        if self._lost:
            yield f"{'no answer':<15} {self._lost:>8}"


class View:
    """A ping on a terminal: lines of packets, and the picture below them."""

    def __init__(self, console: Console, interval_ns: int, address: str = "") -> None:
        self._picture = PingPicture()
        self._listed = interval_ns >= LISTED_NS
        self._address = address
        self._console = console
        self._live = Live(self._picture, console=console, auto_refresh=False)
        self._drawn = 0.0

    def __enter__(self) -> View:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.refresh()
        self._live.stop()

    def add(self, packet: PingPacket) -> None:
        """Print a packet, and draw the picture again if the last one is old."""
        if not packet.duplicates:
            self._picture.add(packet)
        if self._listed:
            self._console.print(line(packet, self._address), highlight=False)
        if time.monotonic() - self._drawn >= REDRAW_S:
            self._live.refresh()
            self._drawn = time.monotonic()


def _lower(nanoseconds: int) -> int:
    """Return the lower bound of a time's bin: 1, 2 or 5 times a power of ten."""
    power: int = 10 ** (len(str(max(1, nanoseconds))) - 1)
    return max(step * power for step in STEPS if step * power <= max(1, nanoseconds))


def _bounds(first: int, last: int) -> Iterator[int]:
    """Yield the bounds of the bins from `first` to the one after `last`."""
    bound = first
    while bound <= last:
        yield bound
        step = bound // 10 ** (len(str(bound)) - 1)
        bound = bound * 5 // 2 if step == STEPS[1] else bound * 2
    yield bound


def _short(nanoseconds: int) -> str:
    for unit, factor in (("s", 10**9), ("ms", 10**6), ("µs", 10**3)):
        if nanoseconds >= factor:
            return f"{nanoseconds // factor}{unit}"
    return f"{nanoseconds}ns"
