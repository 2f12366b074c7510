"""Passages of a probe's packet through links: what held it there, and what became of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from delaylab.causes.drops import UNANSWERED, UNSEEN_LOSS, Drop
from delaylab.causes.holds import Hold
from delaylab.causes.pieces import Cause

Fate = Literal["sent", "loss", "queue", "early", "down", "interface"]
"""The end of a packet's passage, in the words of the engine."""
LOST_BY: dict[Fate, str] = {
    "loss": "lost by {where}, as configured",
    "queue": "dropped by {where}: its queue was full",
    "early": "dropped by {where}: its queue's discipline dropped it",
    "down": "dropped by {where}: it was not up",
    "interface": "dropped by {where}: the interface that it was to leave by did not take it",
}
"""The words for each way in which a link loses a packet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """The passage of a packet through a link, in one direction.

    `node` sends on the link, or with `receives` gets the packet; None is what another host sends.
    Times are in ns since the Unix epoch: the packet came, began to leave after it waited in
    the queue, had left as the rate has it, was due after the link's delay, and was sent or dropped.
    When it came, `queue_frames` of `queue_bytes` waited; `most_bytes` of these were from
    `most_from`, a node or an address, None without a queue.
    """

    probe: int
    seq: int
    link: str
    node: str | None
    receives: bool
    fate: Fate
    came_ns: int
    began_ns: int
    left_ns: int
    due_ns: int
    ended_ns: int
    queue_frames: int = 0
    queue_bytes: int = 0
    most_from: str | None = None
    most_bytes: int = 0

    @property
    def where(self) -> str:
        """Return the link with its direction, such as "link wan from one"."""
        return f"link {self.link} {'to' if self.receives else 'from'} {self.node or 'another host'}"

    @property
    def holds(self) -> Iterator[Hold]:
        """Yield the times for which the link held the packet, by what did."""
        times = self.came_ns, self.began_ns, self.left_ns, self.due_ns
        causes = Cause.QUEUE, Cause.RATE, Cause.DELAY
        for cause, (start_ns, end_ns) in zip(causes, pairwise(times), strict=True):
            if start_ns < end_ns:
                yield Hold(start_ns=start_ns, end_ns=end_ns, cause=cause, where=self.where)

    @property
    def queue(self) -> str:
        """Return the frames that waited when the packet came, in words; "" if none did."""
        if not self.queue_frames:
            return ""
        frames = "1 frame" if self.queue_frames == 1 else f"{self.queue_frames} frames"
        most = f", {self.most_bytes / self.queue_bytes:.0%} from {self.most_from}"
        return f"{frames} of {_size(self.queue_bytes)}{most if self.most_from else ''}"

    @property
    def most(self) -> str:
        """Return who sent most of the bytes that waited, in words; "" if nobody did.

        Packets that find the same queue one after the other have the same words.
        """
        known = self.most_from is not None and 2 * self.most_bytes > self.queue_bytes
        return f"most of it from {self.most_from}" if known else ""

    def loss(self, *, brief: bool) -> str | None:
        """Return how the link lost the packet, in words; None if it did not.

        `brief` leaves out how long the queue was.
        """
        if self.fate == "sent":
            return None
        text = LOST_BY[self.fate].format(where=self.where)
        queue = (self.most if brief else self.queue) if self.fate in ("queue", "early") else ""
        return f"{text} ({queue})" if queue else text


def holds_of(passages: Iterable[Passage]) -> list[Hold]:
    """Return the times for which links held a packet."""
    return [hold for each in passages for hold in each.holds]


def loss_words(drop: Drop | None, passages: Sequence[Passage], *, brief: bool = False) -> str:
    """Return who lost a packet, in words: a link that it came to last, or a kernel.

    `brief` leaves out how long a queue was, so that packets lost alike have the same words.
    """
    last = max(passages, key=lambda each: each.ended_ns, default=None)
    by_link = None if last is None else last.loss(brief=brief)
    if by_link is not None:
        return by_link
    if drop is not None:
        return drop.text
    return UNSEEN_LOSS if last is None else UNANSWERED


def _size(size_bytes: int) -> str:
    """Return a number of bytes in words."""
    return f"{size_bytes} bytes" if size_bytes < 1000 else f"{size_bytes / 1000:.0f} kB"
