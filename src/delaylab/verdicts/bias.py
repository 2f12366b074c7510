"""Bias of a measurement by the use of the machine that took it: clean or biased, by a stated rule.

Whiteaker, Schneider and Teixeira (2011, section 6) propose that a tool looks at the machine's use
and tells the experimenter which samples it may have biased. The rule never looks at a delay: what
selects packets by their delay makes any machine look quick.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from delaylab.units import Duration
from delaylab.verdicts.meanwhile import STEAL, WAITING, Meanwhile, UseBetweenSamples

MS, S = 1_000_000, 1_000_000_000
BEFORE_NS = 100 * MS
"""The time before a packet was due that counts as well."""
BUSY = 0.25
"""The share of the CPUs' time that is busy from which on a packet may be biased."""
TRAFFIC_BPS = 1e6
"""The rate at an interface, in and out together, from which on its queue may hold packets up."""
STEAL_NS = S
"""The time over which steal counts: kernels count it in ticks of 10 ms, one of which is no sign."""
SLIP_NS = MS
"""The time by which a packet may be sent late."""
LEAST_INTERVAL = Duration.parse("10ms")
"""The shortest interval of packets: with a shorter one they keep the machine busy themselves."""
PATIENCE = Duration.parse("10s")
"""The least time for which packets are sent again, unless a deadline is given."""
ROUND_S = 1.0
"""The longest time that a round of packets takes that are sent again."""
SAMPLES_S = 1.0
"""The longest wait for the sample after a packet's answer."""
LOOK_S = BEFORE_NS / 4e9
"""The time between two looks at the samples that have come."""
MOST_MOMENTS = 10_000
"""The most moments by which a share of time is found."""

HEADERS = 100
"""The most bytes of a packet's headers: those of VXLAN, Ethernet, IPv6 and ICMP."""

BiasReason = Literal["waiting", "busy", "traffic", "steal", "slip"]
"""The parts of the rule that may call a packet biased."""
RULE: dict[BiasReason, str] = {
    "waiting": f"tasks waited for a CPU for over {100 * WAITING:.0f} % of the time between two "
    f"samples of the machine, from {BEFORE_NS // MS} ms before the packet was due to its reply",
    "busy": f"the CPUs were busy for over {100 * BUSY:.0f} % of such a time",
    "traffic": f"an interface carried over {TRAFFIC_BPS / 1e6:.0f} Mbit/s in such a time, in and "
    "out together, not counting what the probe itself may have sent",
    "steal": f"the machine's host took over {100 * STEAL:.0f} % of the CPUs' time in the second up "
    "to the reply",
    "slip": f"the packet was sent over {SLIP_NS // MS} ms late",
}
"""The rule in words: a packet is biased if one of these holds, and clean if not."""


@dataclass(frozen=True, slots=True)
class BiasRule:
    """A rule in words, for what looks at this kind of evidence: the machine's use, or causes.

    `reasons` says for each reason when it holds, `names` says it in few words.
    """

    evidence: Literal["use", "causes"]
    text: str
    reasons: Mapping[str, str]
    names: Mapping[str, str]


BY_USE = BiasRule(
    evidence="use",
    text="a packet is biased if one of these holds, and clean if not",
    reasons={str(reason): text for reason, text in RULE.items()},
    names={
        "waiting": "tasks waited for a CPU",
        "busy": "CPUs busy",
        "traffic": "traffic at an interface",
        "steal": "CPUs taken by the host",
        "slip": "sent late",
    },
)


@dataclass(frozen=True, slots=True)
class MeasuredTime:
    """The time that a packet depends on: when it was due, when sent, and when answered.

    Times are in ns since 1970. Without an answer the packet depends on the time of its sending.
    """

    due_ns: int
    sent_ns: int
    until_ns: int


class BiasEvidence(Protocol):
    """A source of evidence on bias: the seam between what is known and who repeats packets.

    `EvidenceByUse` knows the use of CPUs and interfaces, `EvidenceByCauses` (`causes/biased.py`)
    what each packet waited for.
    """

    @property
    def rule(self) -> BiasRule:
        """Return the rule that judges packets."""

    def reasons(self, time: MeasuredTime) -> Sequence[str] | None:
        """Return why a packet of this time may be biased; nothing if it is clean.

        None if it is not known, as the evidence does not reach to its end, or not yet.
        """

    def taken_ns(self, time: MeasuredTime) -> Mapping[str, int]:
        """Return at least how much each reason took of a packet, in ns; nothing if not known."""

    def waited_ns(self, time: MeasuredTime) -> int | None:
        """Return for how much of its round trip a packet waited here, in ns; None if not known.

        That is what biases packets, of whatever length, and the wake-ups of idle CPUs.
        """

    @property
    def span_ns(self) -> tuple[int, int] | None:
        """Return the time that is known of; None if there is none."""


@dataclass(frozen=True, slots=True)
class EvidenceByUse:
    """A source of evidence that knows the use of a machine's CPUs and interfaces, by samples.

    `own_bps` is the traffic of the probe itself, None if it is not known: then no traffic counts.
    """

    meanwhile: Meanwhile
    own_bps: float | None = None

    @property
    def rule(self) -> BiasRule:
        """Return the rule that judges packets."""
        return BY_USE

    @property
    def span_ns(self) -> tuple[int, int] | None:
        """Return the time that is known of; None if there is none."""
        return self.meanwhile.span_ns

    def reasons(self, time: MeasuredTime) -> Sequence[BiasReason] | None:
        """Return why a packet of this time may be biased; nothing if it is clean."""
        span = self.span_ns
        since_ns = time.due_ns - BEFORE_NS
        if span is None or since_ns < span[0] or time.until_ns > span[1]:
            return None
        found: list[BiasReason] = []
        uses = list(self.meanwhile.uses(since_ns, time.until_ns))
        if any(each.waiting is not None and each.waiting > WAITING for each in uses):
            found.append("waiting")
        if any(each.busy is not None and each.busy > BUSY for each in uses):
            found.append("busy")
        if any(map(self._has_traffic, uses)):
            found.append("traffic")
        if self._steal(time.until_ns) > STEAL:
            found.append("steal")
        if time.sent_ns - time.due_ns > SLIP_NS:
            found.append("slip")
        return found

    def taken_ns(self, time: MeasuredTime) -> Mapping[str, int]:
        """Return nothing: use does not say how long a packet waited."""
        del time
        return {}

    def waited_ns(self, time: MeasuredTime) -> int | None:
        """Return None: use does not say how long a packet waited."""
        del time
        return None

    def _has_traffic(self, use: UseBetweenSamples) -> bool:
        if self.own_bps is None or use.traffic_bps is None:
            return False
        return use.traffic_bps > TRAFFIC_BPS + self.own_bps

    def _steal(self, until_ns: int) -> float:
        then = self.meanwhile.between(until_ns - STEAL_NS, until_ns)
        return 0.0 if then is None else then.steal


def is_clean_now(evidence: BiasEvidence, now_ns: int) -> bool:
    """Return True if a packet that was sent at the last sample would be clean, and that is now."""
    span = evidence.span_ns
    # A sample that is older says nothing of what is now.
    if span is None or now_ns - span[1] > 2 * BEFORE_NS:
        return False
    reasons = evidence.reasons(MeasuredTime(span[1], span[1], span[1]))
    return reasons is not None and not reasons


def traffic_of(packet_bytes: int, interval_s: float) -> float:
    """Return the most traffic of a probe at an interface in bit/s, both ways together.

    Each packet is answered by one of its size. A sample may have one packet more than others.
    """
    packets_per_s = 1 / interval_s + S / BEFORE_NS
    return 2 * 8 * (packet_bytes + HEADERS) * packets_per_s


def clean_share(evidence: BiasEvidence, since_ns: int, until_ns: int) -> float | None:
    """Return the share of a time at which a packet would have been clean.

    None if nothing is known of it.
    """
    step_ns = max(BEFORE_NS, (until_ns - since_ns) // MOST_MOMENTS)
    at = range(since_ns, until_ns + 1, step_ns)
    known = [
        not reasons
        for each in at
        if (reasons := evidence.reasons(MeasuredTime(each, each, each))) is not None
    ]
    return sum(known) / len(known) if known else None
