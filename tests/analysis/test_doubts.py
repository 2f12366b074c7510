"""Doubts are raised by what they are about, and by nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from delaylab.records.doubts import Doubt
from delaylab_study.analysis.analyse import groups
from delaylab_study.dataset import store
from tests import synthetic
from tests.grouped import of_packets
from tests.synthetic import Condition, constant

TAP = {"point": "sender.uplink", "packets": 9, "dropped": 0, "by": "tcx"} | {
    "queue": "noqueue",
    "queue_after": "noqueue",
    "queue_changed": False,
}


def doubts(place: Path, condition: Condition, **changes: Any) -> list[Doubt]:
    stamps, probes = synthetic.tables(condition)
    synthetic.write_study(place, synthetic.study([condition], []))
    record = synthetic.trial(condition, 0) | changes
    synthetic.write_trial(place, record, stamps, probes, synthetic.hosts())
    return next(groups(store.read_study(place))).doubts


@pytest.mark.parametrize(
    ("condition", "changes", "kinds"),
    [
        (Condition(), {}, []),
        (Condition(packets=50), {}, ["few-samples"]),
        (Condition(slip=constant(900)), {}, ["send-slip"]),
        (Condition(slip=constant(-2000)), {}, ["clock-step"]),
        (Condition(unseen=[(1, "reply", "wire")]), {}, ["unseen"]),
        (Condition(lost_after=dict.fromkeys(range(9), ("request", "wire"))), {}, ["lost"]),
        (Condition(delays={("request", "sender.stack"): constant(-3)}), {}, ["backwards"]),
        (
            Condition(),
            {"taps": [{"point": "wire", "packets": 9, "dropped": 1}]},
            ["dropped-stamps"],
        ),
        (
            Condition(),
            {"taps": [{**TAP, "queue_after": "tbf", "queue_changed": True}]},
            ["queue-changed"],
        ),
        (Condition(), {"taps": [TAP]}, []),
        (
            Condition(lost_after=dict.fromkeys(range(9), ("request", "wire"))),
            {"responder_icmp": {"OutErrors": 9}},
            ["responder-drops"],
        ),
        (
            Condition(),
            {"warnings": [{"kind": "throttled", "message": "m", "remedy": "r"}]},
            ["throttled"],
        ),
    ],
)
def test_doubts(
    tmp_path: Path, condition: Condition, changes: dict[str, Any], kinds: list[str]
) -> None:
    found = doubts(tmp_path, condition, **changes)
    assert [str(doubt.kind) for doubt in found] == kinds
    assert all(doubt.message and doubt.remedy for doubt in found)


def test_answers_of_a_closed_port_are_doubted(tmp_path: Path) -> None:
    condition = Condition()
    stamps, probes = synthetic.tables(condition)
    closed = pl.when(pl.col("seq") < 3).then(pl.lit("closed")).otherwise("outcome")
    probes = probes.with_columns(closed.alias("outcome"))
    synthetic.write_study(tmp_path, synthetic.study([condition], []))
    trial = synthetic.trial(condition, 0)
    synthetic.write_trial(tmp_path, trial, stamps, probes, synthetic.hosts())
    (found,) = next(groups(store.read_study(tmp_path))).doubts
    assert (found.kind, found.values["closed"]) == ("closed-port", 3)


def test_a_trial_that_got_no_answer_is_analysed_too(tmp_path: Path) -> None:
    condition = Condition(lost_after=dict.fromkeys(range(200), ("request", "wire")))
    synthetic.write_study(tmp_path, synthetic.study([condition], []))
    synthetic.write_trial(
        tmp_path,
        synthetic.trial(condition, 0),
        *synthetic.tables(condition),
        synthetic.hosts(),
    )
    group = next(groups(store.read_study(tmp_path)))
    assert group.rtt == {}
    packets = of_packets(group)
    assert packets.account.lost_after == {"request wire": 200}
    assert packets.samples.height == 0
    assert isinstance(packets.samples, pl.DataFrame)


@pytest.mark.parametrize(
    ("by", "after", "said"),
    [
        ("tcx", "tbf", "was noqueue when the tap started and tbf at the end: packets wait in it"),
        ("ring", "tbf", "was noqueue when the tap started and tbf at the end: delays from before"),
        ("ring", "noqueue", "(noqueue) at sender.uplink was set anew during the trial"),
    ],
)
def test_a_changed_queue_is_told_with_what_it_means(
    tmp_path: Path, by: str, after: str, said: str
) -> None:
    tap = {**TAP, "by": by, "queue_after": after, "queue_changed": True}
    (found,) = doubts(tmp_path, Condition(), taps=[tap])
    assert said in found.message


def test_a_trial_too_short_for_its_memory_is_doubted_and_repeats_are_not(tmp_path: Path) -> None:
    wandering = np.cumsum(np.random.default_rng(3).normal(size=400)) * 20 + 5000
    delays = {("request", "wire"): lambda _random, n: wandering[:n]}
    found = []
    for repeats in (1, 3):
        conditions = [Condition(packets=400, delays=delays, repeat=1 + n) for n in range(repeats)]
        synthetic.write(tmp_path / str(repeats), conditions)
        (group,) = groups(store.read_study(tmp_path / str(repeats)))
        found.append([each for each in group.doubts if each.kind == "long-memory"])
    (doubt,), none = found
    assert not none
    assert float(doubt.values["independent"]) < 10
    assert "repeat" in doubt.remedy


@pytest.mark.parametrize(
    ("counted", "kinds"),
    [
        ({"OutEchoReps": 30, "OutEchoReplies": 9}, ["forged-replies"]),
        ({"OutEchoReps": 31, "OutEchoReplies": 9}, []),
        ({"OutEchoReps": 3}, []),  # of a version that did not count those by IPv6
    ],
)
def test_more_answered_packets_than_echo_replies_are_doubted(
    tmp_path: Path, counted: dict[str, int], kinds: list[str]
) -> None:
    found = doubts(tmp_path, Condition(packets=40), responder_icmp=counted, protocol="icmp")
    assert [str(doubt.kind) for doubt in found if "replies" in str(doubt.kind)] == kinds
