"""The network between machines during a trial, from the stamps and outcomes of probes."""

from __future__ import annotations

import polars as pl

from delaylab.kinds import KINDS
from delaylab.plan.build import build
from delaylab.plan.kind import Rights
from delaylab.plan.model import Plan
from delaylab.resolve.load import lab_from
from delaylab.spec.source import parse
from delaylab_study.trial.underlays import measured

MS = 1_000_000
ROOT = Rights(root=True)
LAB = """\
lab: apart
machines: {m1: {ssh: m1}}
hosts: {h1: {machine: m1}, h2: {}, h3: {}}
nodes: {a: {host: h1}, b: {host: h2}, c: {host: h3}}
links:
  - {between: [a, b], name: apart, delay: 10ms}
  - {between: [b, c], name: together, delay: 10ms}
  - {join: [a, b, c], name: many, loss: 1%}
  - {between: [a, c], name: plain}
"""
PAIR = ("local", "m1")


def planned() -> Plan:
    return build(lab_from(parse(LAB, "lab.yaml")), KINDS, ROOT, machines={"m1": ROOT})


def outcomes(**counts: int) -> pl.DataFrame:
    found = [name.replace("_", "-") for name, count in counts.items() for _ in range(count)]
    return pl.DataFrame({"outcome": found}, schema={"outcome": pl.String})


def stamps(rtt_ns: list[int], ahead_ns: int = 0, answering_ns: int = 5 * MS) -> pl.DataFrame:
    """Return stamps of probes, half of whose time was on the way there, by a clock ahead."""
    sent = pl.Series("sent_ns", range(0, len(rtt_ns) * 10 * MS, 10 * MS), dtype=pl.Int64)
    took = pl.Series(rtt_ns, dtype=pl.Int64)
    arrived = sent + took // 2 + ahead_ns
    left = arrived + answering_ns
    back = sent + took + answering_ns
    return pl.DataFrame({"sent_ns": sent, "arrived_ns": arrived, "left_ns": left, "back_ns": back})


def test_round_trips_are_without_the_time_of_answering_whatever_the_clocks_show() -> None:
    rtt = [3 * MS + 1000 * number for number in range(1, 1001)]
    found = measured(planned(), PAIR, outcomes(replied=1000), stamps(rtt, ahead_ns=-(10**12)))
    assert found.least_rtt_ns == 3 * MS + 1000
    assert found.p1_rtt_ns == 3 * MS + 10_000
    assert found.p50_rtt_ns == 3 * MS + 500_000
    assert found.p99_rtt_ns == 3 * MS + 990_000
    assert (found.sent, found.lost) == (1000, 0)


def test_links_and_hosts_of_the_two_machines_are_named() -> None:
    found = measured(planned(), PAIR, outcomes(), stamps([]))
    # A link without conditions has no engine, and so no verdict.
    assert found.links == ["apart", "many"]
    assert found.hosts == ["h1", "h2", "h3"]


def test_probes_under_way_or_refused_say_nothing() -> None:
    counts = outcomes(replied=90, late=5, lost=5, under_way=100, refused=3, unsent=1000)
    found = measured(planned(), PAIR, counts, stamps([MS] * 95))
    assert (found.sent, found.lost) == (100, 5)


def test_without_an_answer_no_round_trip_is_known() -> None:
    found = measured(planned(), PAIR, outcomes(lost=500), stamps([]))
    assert (found.sent, found.lost) == (500, 500)
    assert found.least_rtt_ns is found.p1_rtt_ns is found.p99_rtt_ns is None


def test_a_clock_that_was_set_meanwhile_makes_no_round_trip() -> None:
    """The answering machine's clock was set forward between two stamps of one probe."""
    times = pl.concat([stamps([3 * MS] * 100), stamps([3 * MS], answering_ns=10**9)])
    last = pl.int_range(pl.len()) == 100
    times = times.with_columns(pl.when(last).then(pl.col("left_ns") + 10**9).otherwise("left_ns"))
    found = measured(planned(), PAIR, outcomes(replied=101), times)
    assert found.least_rtt_ns == 3 * MS
