"""The late packets of a ping, and why they were late."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from delaylab.agent.failures import AgentError
from delaylab.agent.wire.cpus import CpusDone
from delaylab.causes.drops import Drop
from delaylab.causes.explained import Explained
from delaylab.causes.passages import Passage, loss_words
from delaylab.causes.pieces import Cause
from delaylab.causes.words import cause, sentence, task_name, us
from delaylab.io.values import JsonObject

LATE_NS = 500_000
"""The time by which a late packet takes longer than the median."""
STEPPED_NS = 1_000
"""The most by which the clock may have been set while packets were recorded."""
SLOWEST = 3


@dataclass(frozen=True, slots=True)
class LostPacket:
    """A lost packet, and how a kernel of this machine dropped it; None if none did.

    `passages` are those through links of this machine, in the order of their ends.
    """

    seq: int
    drop: Drop | None
    passages: Sequence[Passage] = ()

    @property
    def text(self) -> str:
        """Return who dropped it."""
        return loss_words(self.drop, self.passages)

    @property
    def brief(self) -> str:
        """Return the same without how long a queue was."""
        return loss_words(self.drop, self.passages, brief=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class LateFound:
    """The late packets of a ping: how many, and why those that were looked at were late.

    `lost` are lost packets that were looked for.
    `recorded` is what the recorder counted; None if it ended early, then `failed` says why.
    """

    late: int
    explained: Sequence[Explained]
    recorded: CpusDone | None
    lost: Sequence[LostPacket] = ()
    failed: AgentError | None = None

    @property
    def by_cause(self) -> dict[Cause, int]:
        """Return the excess of all packets that were looked at, by cause in ns, largest first."""
        total = Counter[Cause]()
        for each in self.explained:
            total.update(each.by_cause)
        return dict(total.most_common())

    @property
    def lines(self) -> Iterator[str]:
        """Yield what there is to say: how many were late, the causes, the slowest packets."""
        if self.recorded is None and not self.explained:
            why = "what CPUs do was not recorded" if self.failed is None else self.failed.what
            yield f"why: {why}; what `late:` says is from samples, which are coarser"
            return
        ms = LATE_NS / 1e6
        looked = len(self.explained)
        yield (
            f"why: {self.late} packets took {ms:g} ms longer than the median or more"
            + (f"; {looked} of them were looked at" if looked != self.late else "")
        )
        if self.failed:
            yield f"  the recorder ended early: {self.failed.what}"
        yield from self._causes()
        slowest = sorted(self.explained, key=lambda found: -found.excess_ns)[:SLOWEST]
        for found in slowest:
            yield f"  slowest: seq={found.seq} +{us(found.excess_ns)}: {sentence(found)}"
        for text, count in Counter(each.brief for each in self.lost).most_common():
            yield f"  lost: {count} of {len(self.lost)}: {text}"
        if self.recorded is not None:
            yield from in_doubt(self.recorded)

    def _causes(self) -> Iterator[str]:
        """Yield a line for each cause of at least a hundredth of the excess."""
        whole = sum(each.excess_ns for each in self.explained)
        tops = Counter(each.top.cause for each in self.explained if each.top)
        for each, ns in self.by_cause.items():
            if ns > 0 and ns >= whole / 100:
                of = f"the largest for {tops[each]}" if tops[each] else "the largest for none"
                yield f"  {ns / whole:4.0%}  {each.value}: {us(ns)} in all, {of}"

    def as_json(self) -> JsonObject:
        """Return the late packets as `ping --json` prints them."""
        return {
            "late": self.late,
            "by_cause_ns": {each.value: ns for each, ns in self.by_cause.items()},
            "failed": None if self.failed is None else self.failed.what,
            "recorded": None if self.recorded is None else self.recorded.model_dump(),
            "packets": [packet_json(each) for each in self.explained],
            "lost": [lost_json(each) for each in self.lost],
        }


def in_doubt(recorded: CpusDone) -> Iterator[str]:
    """Yield what makes causes less sure, by what the recorder counted."""
    if abs(recorded.clock_set_ns) > STEPPED_NS:
        yield f"  the clock was set by {us(recorded.clock_set_ns)}: causes are in doubt"
    if lost := sum(each.overwritten for each in recorded.cpus):
        yield f"  {lost} records were overwritten before they were read"
    seen = sum(each.switches for each in recorded.cpus)
    if unseen := sum(each.unseen for each in recorded.cpus):
        yield (
            f"  the kernel hid {unseen} of {seen + unseen} switches: some of that time is unknown"
        )


def packet_json(found: Explained) -> JsonObject:
    """Return a late packet as `ping --json` prints it."""
    return {
        "seq": found.seq,
        "excess_ns": found.excess_ns,
        "why": sentence(found),
        "shares": [
            {
                "segment": share.segment,
                "cause": share.cause.value,
                "ns": share.ns,
                "task": share.task,
                "by": task_name(share.task, found.tasks, found.lab),
                "waited": task_name(share.of, found.tasks, found.lab),
                "held_by": share.where or None,
                "text": cause(share, found),
            }
            for share in found.shares
        ],
    }


def lost_json(lost: LostPacket) -> JsonObject:
    """Return a lost packet as `ping --json` prints it."""
    drop, last = lost.drop, lost.passages[-1] if lost.passages else None
    return {
        "seq": lost.seq,
        "why": lost.text,
        "reason": drop.reason if drop else None,
        "interface": drop.interface if drop else None,
        "place": drop.place if drop else None,
        "cpu": drop.cpu if drop else None,
        "link": last.where if last else None,
        "fate": last.fate if last else None,
    }
