"""Outcome of a ping that repeats biased packets: its medians and its sampling."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from delaylab.io.values import JsonObject
from delaylab.verdicts.bias import RULE, BiasReason
from delaylab.verdicts.medians import MedianWithInterval

MICRO, MILLI = 1e3, 1e6
CleanEnd = Literal["enough", "budget", "patience", "deadline", "interrupted", "unknown"]
"""The reason why no more packets were repeated."""
WORDS: Mapping[BiasReason, str] = {
    "waiting": "tasks waited for a CPU",
    "busy": "CPUs busy",
    "traffic": "traffic at an interface",
    "steal": "CPUs taken by the host",
    "slip": "sent late",
}
ENDS: Mapping[CleanEnd, str] = {
    "budget": "the budget of repeats is used up",
    "patience": "the machine was in use for too long",
    "deadline": "the deadline came first",
    "interrupted": "it was interrupted",
    "unknown": "the machine's use is not known to the end",
}


@dataclass(frozen=True, slots=True)
class JudgedMedians:
    """Medians of one kind of round trip, in ns.

    `raw` is of the packets on schedule, clean or not, as a ping without repeats has it. The others
    are of clean packets: of all, of those on schedule, and of the repeats.
    """

    clean: MedianWithInterval | None
    raw: MedianWithInterval | None
    clean_on_schedule: MedianWithInterval | None
    clean_repeats: MedianWithInterval | None

    @property
    def text(self) -> str:
        """Return the clean median with the raw one."""
        return f"clean {_words(self.clean)}, raw (all packets on schedule) {_words(self.raw)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PingSampling:
    """The times that a ping's clean packets are of.

    `seconds` is from the first packet's sending to the end, `waited_s` the part of it in which no
    repeat was sent since the machine was not clean. `clean_share_of_time` is the share at which a
    packet would have been clean, None if it is not known.
    """

    seconds: float
    waited_s: float
    clean_share_of_time: float | None

    @property
    def text(self) -> str | None:
        """Return the sampling in words; None if it is not known."""
        if self.clean_share_of_time is None:
            return None
        return (
            f"the machine was clean for {100 * self.clean_share_of_time:.0f} % of "
            f"{self.seconds:.1f} s, and the clean median is of that time alone; "
            f"repeats waited {self.waited_s:.1f} s for it"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanFound:
    """The outcome of a ping that repeats biased packets.

    Of all packets some were `kept` as clean, and the rest was refused, or is `unknown`: the
    evidence does not reach it. `refused` has the reasons by seq. `asked` packets were on schedule,
    the first ones. `repeats` of at most `budget` were sent; `ended_by` says why no more were.
    """

    asked: int
    kept: int
    unknown: int
    refused: Mapping[int, Sequence[BiasReason]]
    user: JudgedMedians
    kernel: JudgedMedians
    sampling: PingSampling
    repeats: int
    budget: int
    ended_by: CleanEnd

    @property
    def refused_for(self) -> dict[BiasReason, int]:
        """Return the number of biased packets by reason; a packet may have several reasons."""
        found = {reason: sum(reason in each for each in self.refused.values()) for reason in RULE}
        return {reason: n for reason, n in found.items() if n}

    @property
    def lines(self) -> Iterator[str]:
        """Yield the lines of a summary."""
        why = ", ".join(f"{WORDS[each]}: {n}" for each, n in self.refused_for.items())
        unknown = f", {self.unknown} not known" if self.unknown else ""
        yield (
            f"clean: {self.kept} packets kept, {len(self.refused)} refused"
            f"{f' ({why})' if why else ''}{unknown}; {self.repeats} of at most {self.budget} "
            "repeats sent"
        )
        if self.kept < self.asked and self.ended_by in ENDS:
            yield f"clean: {self.kept} packets instead of {self.asked}: {ENDS[self.ended_by]}"
        for title, medians in (("user", self.user), ("kernel", self.kernel)):
            if medians.raw is not None:
                yield f"median {title} round trip: {medians.text}"
        if (sampling := self.sampling.text) is not None:
            yield f"sampling: {sampling}"

    def as_json(self) -> JsonObject:
        """Return the outcome as `ping --clean --json` prints it."""
        return {
            "rule": {str(reason): text for reason, text in RULE.items()},
            "asked": self.asked,
            "kept": self.kept,
            "refused": len(self.refused),
            "unknown": self.unknown,
            "refused_for": {str(reason): n for reason, n in self.refused_for.items()},
            "repeats": self.repeats,
            "budget": self.budget,
            "ended_by": self.ended_by,
            "median_rtt_user_ns": asdict(self.user),
            "median_rtt_kernel_ns": asdict(self.kernel),
            "sampling": asdict(self.sampling),
            "refused_packets": [
                {"seq": seq, "why": list(reasons)} for seq, reasons in self.refused.items()
            ],
        }


def _words(found: MedianWithInterval | None) -> str:
    if found is None:
        return "– n=0"
    unit, name, digits = (MICRO, "µs", 1) if found.median < MILLI else (MILLI, "ms", 3)
    median, low, high = (
        "" if each is None else f"{each / unit:.{digits}f}"
        for each in (found.median, found.low, found.high)
    )
    interval = f"[{low}, {high}]" if low and high else "(too few for an interval)"
    return f"{median}{name} {interval} n={found.n}"
