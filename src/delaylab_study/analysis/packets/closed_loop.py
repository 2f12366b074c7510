"""Evidence that a probe was in a closed loop, from the stamps of neighbouring packets.

In a closed loop a packet is sent when the one before it has its reply, or has had none for the
timeout; and it is sent then, not later.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from delaylab_study.analysis.clocks.stations import Station
from delaylab_study.analysis.packets.trial import TrialPackets
from delaylab_study.dataset.records.trial import START

PROMPT_NS = 100_000
"""The longest time that the sender may take to send the next packet, if a quarter of the time that
it waited for the last one is less."""
PART = 0.25


@dataclass(frozen=True, slots=True)
class LoopSeen:
    """Shares of the packets of a trial's closed loop, of all but the first.

    `in_turn` were sent after the one before had its reply or its timeout, `prompt` no later than
    the loop allows, `on_reply` after a reply and not after a timeout.
    """

    trial: str
    in_turn: float
    prompt: float
    on_reply: float


def loop_seen(packets: TrialPackets) -> LoopSeen | None:
    """Return what the stamps of a trial's packets under load show of its closed loop.

    Return None for a probe with an interval, and for fewer than two packets.
    """
    trial, reply = packets.trial, packets.packets.stations.get(Station("reply", START))
    if trial.timeout_ns is None or reply is None:
        return None
    scheduled = packets.packets.scheduled.select("seq", "sent_ns", replied=reply.times)
    offered = scheduled.drop_nulls("sent_ns").sort("seq")
    sent = offered["sent_ns"].to_numpy()
    if len(sent) < 2:
        return None
    # A packet without a reply is as one whose reply came after any timeout.
    replied = offered["replied"].fill_null(np.iinfo(np.int64).max).to_numpy()[:-1]
    due = np.minimum(replied, sent[:-1] + trial.timeout_ns)
    late = sent[1:] - due
    allowed = np.maximum(PROMPT_NS, PART * (due - sent[:-1]))
    return LoopSeen(
        trial.id,
        float(np.mean(late >= 0)),
        float(np.mean((late >= 0) & (late <= allowed))),
        float(np.mean(replied <= sent[1:])),
    )
