"""Packets that are made to be lost, and the reason that must be named for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from delaylab.causes.pieces import Cause
from delaylab.verbs.ping.late import LostPacket
from tests.truth.blind import Plan, carried_out
from tests.truth.cases import CPUS, LINK, SHORT, Case
from tests.truth.judging import overlaps
from tests.truth.scene import INTERVAL_NS, Scene, Seen


@dataclass(frozen=True, slots=True, kw_only=True)
class LossCase:
    """A cause of loss: how it is injected, and the reason that must be named.

    That is the kernel's, or what the link did (`Passage.fate`) for one of a `link`.
    """

    name: str
    what: str
    argument: Callable[[Scene], str]
    reason: str
    link: dict[str, object] | None = None
    spacing_ns: int = 400_000_000

    @property
    def case(self) -> Case:
        """Return how it is injected; the cause of late packets does not matter."""
        return Case(
            name=self.name,
            what=self.what,
            argument=self.argument,
            cause=Cause.UNKNOWN,
            place="node.two",
            by="",
            link=self.link,
            spacing_ns=self.spacing_ns,
            fewer=2,
        )


@dataclass(slots=True)
class LossJudged:
    """Counts of lost packets: those that were sent while it was injected, and those named right.

    `named` says what was named for each. `others` were lost at other times, `blamed` are those of
    them for which its reason was named.
    """

    lost: int = 0
    right: int = 0
    named: Counter[str] = field(default_factory=Counter)
    others: int = 0
    blamed: int = 0

    def add(self, other: LossJudged) -> None:
        """Add the packets of another run."""
        self.lost += other.lost
        self.right += other.right
        self.named += other.named
        self.others += other.others
        self.blamed += other.blamed


LOSSES = (
    LossCase(
        name="responder's receive buffer filled",
        what="buffer",
        argument=lambda made: f"{made.responder_pid} {made.to} {made.port}",
        reason="SOCKET_RCVBUFF",
    ),
    LossCase(
        name="backlog of the responder's CPU filled",
        what="backlog",
        argument=lambda made: f"{made.responder_pid} {made.interface} {CPUS[1]} {made.by}",
        reason="CPU_BACKLOG",
    ),
    LossCase(
        name="responder's address taken away",
        what="address",
        argument=lambda made: f"{made.responder_pid} {made.to} {made.interface}",
        reason="IP_INADDRERRORS",
    ),
    LossCase(
        name="link's queue overflowed by another program",
        what="overflow",
        argument=lambda made: made.to,
        reason="link line from one: queue",
        link=SHORT,
    ),
    LossCase(
        name="link loses all packets",
        what="loss",
        argument=lambda made: made.lab.name,
        reason="link line from one: loss",
        link=LINK,
        spacing_ns=1_000_000_000,
    ),
)


def lost_blindly(case: LossCase, plan: Plan) -> LossJudged:
    """Carry a plan out, and judge what was named for lost packets."""
    return judge_lost(case, carried_out([case.case], plan))


def judge_lost(case: LossCase, seen: Seen) -> LossJudged:
    """Return how the reasons that were named compare with the injector's own log."""
    found = LossJudged()
    first = seen.packets[0]
    (log,) = seen.logs
    for each in seen.lost:
        # A packet that was dropped before it was sent has no time.
        at_ns = (first.sent_ns or 0) + (each.seq - first.seq) * INTERVAL_NS
        reason = reason_of(each)
        if overlaps((at_ns, at_ns), log.doubtful):
            continue
        if not overlaps((at_ns, at_ns), log.injected):
            found.others += 1
            found.blamed += reason == case.reason
            continue
        found.lost += 1
        found.right += reason == case.reason
        found.named["right" if reason == case.reason else reason] += 1
    return found


def reason_of(lost: LostPacket) -> str:
    """Return the reason that was named for a lost packet: what a link did, or the kernel's."""
    last = lost.passages[-1] if lost.passages else None
    if last is not None and last.fate != "sent":
        return f"{last.where}: {last.fate}"
    return (lost.drop.reason if lost.drop else None) or "nothing"
