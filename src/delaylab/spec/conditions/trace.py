"""Rates or delays over time, read from mahimahi's files and CSV."""

from __future__ import annotations

import csv
import io
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError, model_validator

from delaylab.errors import BadInput
from delaylab.io.files import read_text
from delaylab.spec.base import Spec, no_items
from delaylab.spec.conditions.bounds import (
    FASTEST_BPS,
    LONGEST_NS,
    LONGEST_TRACE_NS,
    OPPORTUNITY_BYTES,
)
from delaylab.spec.conditions.engine import (
    END_OF_COUNTS,
    MOST_OPPORTUNITY_BYTES,
    DelayTrace,
    Opportunities,
    RateTrace,
    Route,
    Trace,
    made_of,
)
from delaylab.spec.sentences import reason
from delaylab.units import Duration, Rate

MILLISECOND = 1_000_000
MOST_BYTES = 32 << 20
"""The most bytes of a file that a lab file names."""
MOST_POINTS, MOST_LINES = 1_000_000, 2_000_000
"""The most points of a trace, and lines of a file including comments and empty lines."""
MOST_DIGITS = 18
"""The most digits of an integer in such a file."""
HEADS = {
    "rate": ("rate", Rate, ""),
    "bps": ("rate", Rate, "bit"),
    "delay": ("delay", Duration, ""),
    "ms": ("delay", Duration, "ms"),
}
"""The second column of a CSV file -> the kind of trace, the quantity, the unit of its numbers."""

Whole = Annotated[int, Field(ge=0)]


class TraceSpec(Spec):
    """A trace after reading, in the link engine's form."""

    kind: Literal["rate", "delay", "opportunities"] = Field(
        description="The quantity that changes: the rate, the delay, or opportunities to send."
    )
    points: list[tuple[Whole, Whole]] = Field(
        default_factory=no_items,
        max_length=MOST_POINTS,
        description="Pairs of a time in ns and the value from then on: bit/s, or a delay in ns.",
    )
    routes: list[Route] = Field(
        default_factory=no_items,
        max_length=MOST_POINTS,
        description="Of a trace of delays, the route from each point on, any number for each: "
        "packets of two routes may overtake each other. Left out, packets stay in order.",
    )
    at_ns: list[Whole] = Field(
        default_factory=no_items,
        max_length=MOST_POINTS,
        description="The times in ns at which packets may leave.",
    )
    period_ns: int | None = Field(
        None, gt=0, description="The time in ns after which the trace begins again."
    )
    bytes: int = Field(
        OPPORTUNITY_BYTES,
        gt=0,
        le=MOST_OPPORTUNITY_BYTES,
        description="The bytes that may leave at each opportunity.",
    )

    @model_validator(mode="before")
    @classmethod
    def _was_read(cls, value: object) -> object:
        if isinstance(value, str):
            raise ValueError(f"the trace {value!r} was not read: load the lab from its file")
        return value

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.kind == "opportunities":
            _check_opportunities(self.at_ns, self.period_ns, self.bytes)
        else:
            _check_points(self.points, self.period_ns)
            if self.kind == "rate":
                _check_rates(self.points, self.period_ns)
            if self.routes and (self.kind != "delay" or len(self.routes) != len(self.points)):
                raise ValueError("`routes` has a route for each point of a trace of delays")
            if self.kind == "delay" and any(delay_ns > LONGEST_NS for _, delay_ns in self.points):
                raise ValueError("the trace has a delay of more than an hour")
        return self

    @property
    def replaces(self) -> str:
        """Return the name of the condition that the trace replaces."""
        return "delay" if self.kind == "delay" else "rate"

    def built(self) -> Trace:
        """Return the trace in the link engine's form."""
        named = {"kind": self.kind, "points": self.points, "period_ns": self.period_ns}
        if self.kind == "rate":
            return made_of(RateTrace, named)
        if self.kind == "delay":
            return made_of(DelayTrace, {**named, "routes": self.routes} if self.routes else named)
        times = {"kind": self.kind, "at_ns": self.at_ns, "bytes": self.bytes}
        return made_of(Opportunities, {**times, "period_ns": self.period_ns})


def _check_opportunities(at_ns: list[int], period_ns: int | None, size: int) -> None:
    if not at_ns:
        raise ValueError("the trace is empty")
    if any(later < earlier for earlier, later in pairwise(at_ns)):
        raise ValueError("the trace goes back in time")
    if period_ns is None or not 0 < period_ns <= LONGEST_TRACE_NS or period_ns < at_ns[-1]:
        raise ValueError("opportunities repeat after their last, within 31 days: see `period_ns`")
    if not 1 <= len(at_ns) * size * 8 * 10**9 // period_ns <= FASTEST_BPS:
        raise ValueError("the trace's mean rate is not between 1 bit/s and 1 Tbit/s")


def _check_points(points: list[tuple[int, int]], period_ns: int | None) -> None:
    if not points:
        raise ValueError("the trace is empty")
    if points[0][0] != 0:
        raise ValueError("the trace has to begin at 0 seconds")
    if any(later[0] <= earlier[0] for earlier, later in pairwise(points)):
        raise ValueError("the trace has two lines of one time, or goes back")
    last = points[-1][0]
    if max(last, period_ns or 0) > LONGEST_TRACE_NS:
        raise ValueError("the trace is longer than 31 days")
    if period_ns is not None and period_ns <= last:
        raise ValueError("the trace repeats before it ends")


def _check_rates(points: list[tuple[int, int]], period_ns: int | None) -> None:
    if not (points[-1][1] or (period_ns and any(bps for _, bps in points))):
        raise ValueError("the trace ends at a rate of 0 for ever")
    if any(bps > FASTEST_BPS for _, bps in points):
        raise ValueError("the trace has a rate of more than 1 Tbit/s")
    if period_ns is not None and _bits(points, period_ns) < period_ns:
        raise ValueError("the trace's mean rate is less than 1 bit/s")


def _bits(points: list[tuple[int, int]], period_ns: int) -> int:
    """Return the bits, times 10⁹, that pass in one period of a trace of rates."""
    ends = [at_ns for at_ns, _ in points[1:]] + [period_ns]
    return sum((end - at) * bps for (at, bps), end in zip(points, ends, strict=True))


def read_trace(path: Path, repeat: Duration | None = None) -> dict[str, object]:
    """Read a trace; raise BadInput with the file and, where known, the line.

    A file of integers is mahimahi's: milliseconds at which one packet may pass, repeated after the
    last. Otherwise it is CSV with the header `seconds,rate` (with units), `seconds,bps`,
    `seconds,delay` (with units) or `seconds,ms`; its last value stays unless `repeat` is given. A
    trace of delays may have a third column, `route`, a whole number.
    """
    lines = numbered_lines(path, "trace")
    if not lines:
        raise BadInput("the trace is empty", str(path))
    read = _csv if "," in lines[0][1] else _mahimahi
    found = read(path, lines, repeat)
    try:
        TraceSpec.model_validate(found)
    except ValidationError as error:
        raise BadInput(reason(error.errors()[0]), str(path)) from None
    return found


def numbered_lines(path: Path, what: str) -> list[tuple[int, str]]:
    """Read the numbered lines of a file that a lab file names, without comments and empty lines.

    `what` names the file's content in errors. Raises BadInput for a file that cannot be read or has
    too many lines.
    """
    lines: list[tuple[int, str]] = []
    # Lines are read one by one: a file of newlines is small, but the list of its lines is not.
    for number, line in enumerate(io.StringIO(read_text(path, MOST_BYTES), newline=None), start=1):
        if number > MOST_LINES or len(lines) > MOST_POINTS:
            most = MOST_POINTS if len(lines) > MOST_POINTS else MOST_LINES
            raise BadInput(f"the {what} has more than {most} lines", str(path))
        kept = line.split("#")[0].strip()
        if kept:
            lines.append((number, kept))
    return lines


def is_whole(text: str) -> bool:
    """Return True if text is a non-negative integer of at most MOST_DIGITS digits."""
    return text.isdecimal() and text.isascii() and len(text) <= MOST_DIGITS


def _mahimahi(
    path: Path, lines: list[tuple[int, str]], repeat: Duration | None
) -> dict[str, object]:
    times: list[int] = []
    for number, line in lines:
        if not is_whole(line):
            expected = "expected milliseconds such as 17, or a CSV header such as seconds,rate"
            raise BadInput(f"{expected}; got {line[:40]!r}", f"{path}:{number}")
        times.append(int(line) * MILLISECOND)
        if len(times) > 1 and times[-1] < times[-2]:
            raise BadInput("this line is earlier than the one before it", f"{path}:{number}")
    if times[-1] == 0:
        raise BadInput("the trace lasts no time: its last millisecond is 0", str(path))
    period = _period(repeat, times[-1], path) or times[-1]
    return {
        "kind": "opportunities",
        "at_ns": times,
        "period_ns": period,
        "bytes": OPPORTUNITY_BYTES,
    }


def _csv(path: Path, lines: list[tuple[int, str]], repeat: Duration | None) -> dict[str, object]:
    head = [cell.strip().strip('"').lower() for cell in lines[0][1].split(",")]
    routed = head[2:] == ["route"] and HEADS.get(head[1], [""])[0] == "delay"
    if head[0] != "seconds" or head[1] not in HEADS or (head[2:] and not routed):
        known = ", ".join(f"seconds,{name}" for name in HEADS)
        raise BadInput(
            f"expected a header: {known}; a delay trace may add `,route`", f"{path}:{lines[0][0]}"
        )
    kind, quantity, unit = HEADS[head[1]]
    points: list[list[int]] = []
    routes: list[int] = []
    for number, line in lines[1:]:
        try:
            seconds, value, *route = _cells(line, head)
            points.append([Duration.parse(f"{seconds}s").ns, quantity.parse(value + unit).value])
            routes += map(_route, route)
        except (ValueError, csv.Error) as error:
            raise BadInput(str(error), f"{path}:{number}") from None
        if len(points) == 1 and points[0][0] != 0:
            raise BadInput("the first line has to be at 0 seconds", f"{path}:{number}")
        if len(points) > 1 and points[-1][0] <= points[-2][0]:
            raise BadInput("this line is not later than the one before it", f"{path}:{number}")
    if not points:
        raise BadInput("the trace has a header and no lines", str(path))
    period = _period(repeat, points[-1][0], path)
    found: dict[str, object] = {"kind": kind, "points": points, "period_ns": period}
    return {**found, "routes": routes} if routed else found


def _cells(line: str, head: list[str]) -> list[str]:
    """Return the cells of a line; raise ValueError if they are more or fewer than the header's."""
    (cells,) = csv.reader([line])
    if len(cells) != len(head):
        raise ValueError(f"expected {','.join(head)}; got {line[:60]!r}")
    return [cell.strip() for cell in cells]


def _route(text: str) -> int:
    if not is_whole(text) or int(text) >= END_OF_COUNTS:
        raise ValueError(f"expected a route's number, below 2^32; got {text[:20]!r}")
    return int(text)


def _period(repeat: Duration | None, last_ns: int, path: Path) -> int | None:
    if repeat is None:
        return None
    if repeat.ns <= last_ns:
        raise BadInput(f"`repeat: {repeat}` is not after its last line", str(path))
    return repeat.ns
