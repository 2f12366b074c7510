"""Which packets were sent while the machine or its network was in use, from a known record."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from delaylab_study.analysis.analyse import groups
from delaylab_study.analysis.over_time.usage import IN_USE
from delaylab_study.dataset import store
from tests import synthetic
from tests.grouped import of_packets
from tests.synthetic import SAMPLE_NS, START, Condition

LOADED = Condition(load="network", at_rest=100, packets=200)
"""Under load from 0.5 s to 1.5 s: 20 packets in each interval of 100 ms."""
BYTES = 25_000
"""Bytes in an interval of 100 ms at 2 Mbit/s."""


def said(place: Path, record: pl.DataFrame) -> list[bool | None]:
    """Return, packet by packet under load, whether the record has the machine in use."""
    synthetic.write_study(place, synthetic.study([LOADED], []))
    tables = synthetic.tables(LOADED)
    synthetic.write_trial(place, synthetic.trial(LOADED, 0), *tables, record)
    return of_packets(next(groups(store.read_study(place)))).samples[IN_USE].to_list()


def carried(interface: str, during: range) -> pl.DataFrame:
    """A quiet record in which an interface carries 2 Mbit/s during some of its intervals."""
    record = synthetic.hosts(20, busy=0.02)
    total, rows = 1e9, []
    for index in range(21):
        total += BYTES * (index in during)
        rows += [(START + index * SAMPLE_NS, "local", "host.sut", f"{interface}.tx_bytes", total)]
    return pl.concat([record, pl.DataFrame(rows, schema=record.schema, orient="row")])


@pytest.mark.parametrize(("busy", "in_use"), [(0.05, False), (0.5, True)])
def test_a_busy_machine_is_in_use(tmp_path: Path, busy: float, *, in_use: bool) -> None:
    assert said(tmp_path, synthetic.hosts(20, busy=busy)) == [in_use] * 200


def test_a_network_is_in_use_while_an_interface_carries_frames(tmp_path: Path) -> None:
    # The sample at 0.9 s is of the interval from 0.8 s on: 60 packets into the load.
    found = said(tmp_path, carried("uplink", range(9, 12)))
    assert found == [False] * 60 + [True] * 60 + [False] * 80


def test_what_a_node_sends_to_itself_is_no_use_of_the_network(tmp_path: Path) -> None:
    assert said(tmp_path, carried("lo", range(21))) == [False] * 200


def test_without_a_record_nothing_is_known(tmp_path: Path) -> None:
    assert said(tmp_path, synthetic.hosts()) == [None] * 200
