"""Outcome of a ping that repeats biased packets: its medians and its sampling."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from delaylab.agent.failures import AgentError
from delaylab.agent.wire.cpus import CpusDone
from delaylab.causes.words import us
from delaylab.io.values import JsonObject
from delaylab.verbs.ping.late import in_doubt
from delaylab.verdicts.bias import BiasRule
from delaylab.verdicts.medians import MedianWithInterval

MICRO, MILLI = 1e3, 1e6
CleanEnd = Literal["enough", "budget", "patience", "deadline", "interrupted", "unknown"]
"""The reason why no more packets were repeated."""
ENDS: Mapping[CleanEnd, str] = {
    "budget": "the budget of repeats is used up",
    "patience": "the machine was in use for too long",
    "deadline": "the deadline came first",
    "interrupted": "it was interrupted",
    "unknown": "what may have biased packets is not known to the end",
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
    evidence does not reach it. `refused` has the reasons by seq, and `taken_ns` at least how much
    each took, where the rule knows that. `asked` packets were on schedule, the first ones;
    `biased_share` is the share of biased ones among those that are judged. `less_waits` are the
    medians of user round trips less what packets waited for here, None if that is not known.
    `repeats` of at most `budget` were sent; `ended_by` says why no more were. `recorded` is what
    the recorder of CPUs counted; None if it did not run to the end, and `failed` says why then.
    """

    rule: BiasRule
    asked: int
    kept: int
    unknown: int
    refused: Mapping[int, Sequence[str]]
    taken_ns: Mapping[int, Mapping[str, int]]
    biased_share: float | None
    less_waits: JudgedMedians | None
    user: JudgedMedians
    kernel: JudgedMedians
    sampling: PingSampling
    repeats: int
    budget: int
    ended_by: CleanEnd
    recorded: CpusDone | None = None
    failed: AgentError | None = None

    @property
    def refused_for(self) -> dict[str, int]:
        """Return the number of biased packets by reason; a packet may have several reasons."""
        reasons = self.rule.reasons
        found = {
            reason: sum(reason in each for each in self.refused.values()) for reason in reasons
        }
        return {reason: n for reason, n in found.items() if n}

    def taken_by(self, reason: str) -> Sequence[int]:
        """Return at least how much a reason took of each packet that it biased, in ns."""
        return [each[reason] for each in self.taken_ns.values() if reason in each]

    @property
    def lines(self) -> Iterator[str]:
        """Yield the lines of a summary."""
        yield from self._judged_by()
        why = ", ".join(self._reason(each, n) for each, n in self.refused_for.items())
        unknown = f", {self.unknown} not known" if self.unknown else ""
        yield (
            f"clean: {self.kept} packets kept, {len(self.refused)} refused"
            f"{f' ({why})' if why else ''}{unknown}; {self.repeats} of at most {self.budget} "
            "repeats sent"
        )
        if self.biased_share is not None:
            yield f"clean: {100 * self.biased_share:.1f} % of the packets on schedule were biased"
        if self.kept < self.asked and self.ended_by in ENDS:
            yield f"clean: {self.kept} packets instead of {self.asked}: {ENDS[self.ended_by]}"
        for title, medians in (("user", self.user), ("kernel", self.kernel)):
            if medians.raw is not None:
                yield f"median {title} round trip: {medians.text}"
        if self.less_waits is not None:
            yield f"median user round trip less waits here: {self.less_waits.text}"
        if (sampling := self.sampling.text) is not None:
            yield f"sampling: {sampling}"
        if self.recorded is not None:
            yield from in_doubt(self.recorded)

    def _judged_by(self) -> Iterator[str]:
        """Yield by what packets were judged."""
        if self.rule.evidence == "causes":
            yield f"clean: judged by causes: {self.rule.text}"
            if self.failed is not None:
                yield f"  the recorder ended early: {self.failed.what}"
            return
        why = "" if self.failed is None else f", since {self.failed.what}"
        yield f"clean: judged by the use of the machine{why}"

    def _reason(self, reason: str, packets: int) -> str:
        """Return a reason with the number of its packets, and at least how much it took."""
        took = self.taken_by(reason)
        least = f", at least {us(statistics.median(took))} in the median" if took else ""
        return f"{self.rule.names[reason]}: {packets}{least}"

    def as_json(self) -> JsonObject:
        """Return the outcome as `ping --clean --json` prints it."""
        return {
            "judged_by": self.rule.evidence,
            "rule": dict(self.rule.reasons),
            "rule_text": self.rule.text,
            "failed": None if self.failed is None else self.failed.what,
            "asked": self.asked,
            "kept": self.kept,
            "refused": len(self.refused),
            "unknown": self.unknown,
            "biased_share": self.biased_share,
            "refused_for": dict(self.refused_for),
            "taken_ns": {reason: sum(self.taken_by(reason)) for reason in self.refused_for},
            "repeats": self.repeats,
            "budget": self.budget,
            "ended_by": self.ended_by,
            "median_rtt_user_ns": asdict(self.user),
            "median_rtt_kernel_ns": asdict(self.kernel),
            "median_rtt_user_less_waits_ns": None
            if self.less_waits is None
            else asdict(self.less_waits),
            "sampling": asdict(self.sampling),
            "refused_packets": [
                {"seq": seq, "why": list(reasons), "taken_ns": dict(self.taken_ns[seq])}
                for seq, reasons in self.refused.items()
            ],
            "recorded": None if self.recorded is None else self.recorded.model_dump(),
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
