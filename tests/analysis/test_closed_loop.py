"""Evidence of a trial's closed loop, from the stamps of its packets."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import pytest

from delaylab_study.analysis.packets.closed_loop import LoopSeen, loop_seen
from delaylab_study.analysis.packets.trial import TrialPackets
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.dataset.records.ways import Way
from tests.stamped import of_one_clock

MS = 1_000_000
TIMEOUT_NS = 10 * MS


def trial(timeout_ns: int | None) -> TrialRecord:
    return TrialRecord(
        id="trial",
        index=0,
        factors={},
        repeat=1,
        status="ok",
        ways=[Way(request=["sender.app"], reply=["sender.app"])],
        timeout_ns=timeout_ns,
    )


def packets(
    sent: Sequence[int | None], rtts: Sequence[int | None], timeout_ns: int | None = TIMEOUT_NS
) -> TrialPackets:
    """Packets with these times of sending and RTTs in ns."""
    replied = [
        s + rtt if s is not None and rtt is not None else None
        for s, rtt in zip(sent, rtts, strict=True)
    ]
    table = pl.DataFrame(
        {"seq": range(len(sent)), "sent_ns": sent, "reply sender.app": replied},
        schema_overrides={"sent_ns": pl.Int64, "reply sender.app": pl.Int64},
    )
    return of_one_clock(trial(timeout_ns), table)


def seen(sent: Sequence[int | None], rtts: Sequence[int | None]) -> LoopSeen:
    found = loop_seen(packets(sent, rtts))
    assert found is not None
    return found


def test_packets_that_follow_replies_and_timeouts_are_a_closed_loop() -> None:
    """The third has no reply, and the fourth one after its timeout."""
    sent = [0, MS + 5, 2 * MS + 10, 12 * MS + 15, 22 * MS + 20, 23 * MS + 25]
    rtts = [MS, MS, None, 40 * MS, MS, MS]
    found = seen(sent, rtts)
    assert (found.in_turn, found.prompt, found.on_reply) == (1.0, 1.0, 3 / 5)


def test_two_packets_under_way_at_once_are_seen() -> None:
    """Two packets are sent together again and again, and the next two after both replies."""
    sent = [t for pair in range(50) for t in (pair * MS, pair * MS + 1000)]
    found = seen(sent, [MS - 2000] * 100)
    assert found.in_turn == pytest.approx(49 / 99)
    assert found.prompt <= found.in_turn


def test_an_interval_is_seen() -> None:
    found = seen([seq * MS for seq in range(100)], [50_000] * 100)
    assert (found.in_turn, found.prompt) == (1.0, 0.0)


def test_packets_that_were_not_sent_are_left_out() -> None:
    assert seen([0, None, MS + 5], [MS, None, MS]).prompt == 1.0


def test_a_probe_with_an_interval_has_none() -> None:
    assert loop_seen(packets([0, MS], [10, 10], None)) is None
    assert loop_seen(packets([0], [10])) is None
