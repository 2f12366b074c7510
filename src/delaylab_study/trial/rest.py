"""Packets at rest with the taps off and on by turns, in short blocks.

Sent one after the other, the machine's drift from the first half to the second would be taken for
the taps' cost. Neighbouring blocks share the drift, so their difference is free of it.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from delaylab.api.units import Duration
from delaylab_study.dataset.records.trial import RestBlock
from delaylab_study.study_file.probe import Pace
from delaylab_study.trial.sender import Sender

FEWEST, MOST = 4, 10
"""The smallest and the largest number of pairs of blocks, if there are packets for them."""
PACKETS = 3
"""The number of packets of a block below which a trial has fewer pairs, down to `FEWEST`."""
UNTAPPED, TAPPED = "untapped", "before"
WARMING, WARMING_INTERVAL = 10, Duration(10_000_000)
"""The number of packets before the first block, which count nowhere, and their largest interval.
Without them a cold start would be most of the first pair's difference."""


def schedule(count: int, seed: int) -> list[RestBlock]:
    """Return the blocks of `count` packets with the taps off and of as many with the taps on.

    Chance decides which block of a pair comes first, in half of the pairs the one with the taps on.
    Steady drift then cancels out, and the differences of pairs do not depend on each other.
    """
    pairs = min(count, max(FEWEST, min(MOST, count // PACKETS)))
    pairs -= pairs % 2 if pairs > 1 else 0
    tapped_first = [pair % 2 == 0 for pair in range(pairs)]
    Random(seed).shuffle(tapped_first)
    blocks: list[RestBlock] = []
    seq = 0
    for pair, first in enumerate(tapped_first):
        packets = count // pairs + (pair < count % pairs)
        for tapped in (first, not first):
            blocks.append(RestBlock(pair=pair, tapped=tapped, first_seq=seq, packets=packets))
            seq += packets
    return blocks


def alternate(
    sender: Sender, blocks: list[RestBlock], pace: Pace, switch: Callable[[bool], None]
) -> list[RestBlock]:
    """Send the blocks and return them with their sequence numbers; `switch` turns the taps on, off.

    A few packets that count nowhere go first. The taps are on before the first block and after the
    last one.
    """
    sent: list[RestBlock] = []
    on = True
    if blocks:
        warming = min(pace, WARMING_INTERVAL) if isinstance(pace, Duration) else WARMING_INTERVAL
        sender.burst(WARMING, warming)
    for block in blocks:
        if block.tapped != on:
            switch(block.tapped)
            on = block.tapped
        sent.append(block.model_copy(update={"first_seq": sender.next_seq}))
        sender.run(TAPPED if block.tapped else UNTAPPED, block.packets, pace)
    if not on:
        switch(True)
    return sent
