"""Clean packets of a study: judged by its tables, from a record with a known load."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from delaylab_study.analysis.analyse import groups
from delaylab_study.analysis.over_time.clean import CleanSeen
from delaylab_study.dataset import store
from tests import synthetic
from tests.grouped import of_packets
from tests.synthetic import SAMPLE_NS, START, Condition

LOADED = Condition(load="cpu", packets=400, interval_ns=10_000_000)
"""4 s on schedule, of which the last 2 s are sent again: 200 and 200 packets."""
BUSY = range(11, 16)
"""Samples with a load: from 1.0 to 1.5 s."""
FEEDBACK = {
    "asked": 200,
    "budget": 200,
    "sent": 200,
    "waited_ns": 5 * 10**8,
    "ended_by": "enough",
    "machine": "local",
    "places": ["host.sut"],
    "own_bps": 0.0,
}


def record(carried: range = range(0)) -> pl.DataFrame:
    """A record in which the CPUs are busy for some time, and an interface carries bytes."""
    rows, total = [], 0.0
    for index in range(-2, 45):
        at = START + index * SAMPLE_NS
        busy = 0.9 if index in BUSY else 0.02
        total += 1e6 * (index in carried)
        found = {"cpu0.idle": 1 - busy, "cpu0.user": busy, "cpu0.iowait": 0.0, "cpu0.steal": 0.0}
        rows += [(at, "local", "machine", name, value) for name, value in found.items()]
        rows.append((at, "local", "host.sut", "uplink.tx_bytes", total))
    return pl.DataFrame(rows, schema=synthetic.hosts(1).schema, orient="row")


def write(place: Path, hosts: pl.DataFrame, **feedback: object) -> Path:
    """Write a study of packets, of which the second half was sent again."""
    synthetic.write_study(place, synthetic.study([LOADED], []))
    stamps, probes = synthetic.tables(LOADED)
    again = pl.when(pl.col("seq") < 200).then(pl.col("phase")).otherwise(pl.lit("again"))
    raw = synthetic.trial(LOADED, 0) | {"clean": FEEDBACK | feedback}
    synthetic.write_trial(place, raw, stamps, probes.with_columns(again.alias("phase")), hosts)
    return place


def seen(place: Path, hosts: pl.DataFrame, **feedback: object) -> CleanSeen:
    """Return what is found of the packets of such a study."""
    study = store.read_study(write(place, hosts, **feedback))
    found = of_packets(next(groups(study))).clean
    assert found is not None
    return found


def test_packets_are_refused_from_100_ms_after_a_loads_last_sample_back_to_its_first(
    tmp_path: Path,
) -> None:
    """The load is in samples from 1.0 to 1.5 s, and 100 ms before a packet count as well."""
    found = seen(tmp_path, record())
    assert (found.on_schedule, found.again, found.asked) == (200, 200, 200)
    assert found.refused == found.refused_on_schedule == found.refused_for["busy"]
    assert found.refused == pytest.approx(60, abs=1)
    assert found.kept + found.refused + found.unknown == 400
    assert found.unknown == 0
    assert (found.raw.n, found.clean.n) == (200, found.kept)
    assert (found.clean_on_schedule.n, found.clean_again.n) == (200 - found.refused, 200)
    assert found.share_of_time == pytest.approx(1 - 0.6 / 4, abs=0.03)
    assert sum(map(len, found.samples.clean_of("total"))) == found.kept
    assert int(np.concatenate(found.samples.refused).sum()) == found.refused
    assert found.every_raw is not None
    assert found.every_clean is not None
    assert found.every_raw.longest == pytest.approx(10)
    assert found.every_clean.longest == pytest.approx(10 * (found.refused + 1))


def test_traffic_of_the_senders_host_counts(tmp_path: Path) -> None:
    found = seen(tmp_path, record(carried=range(31, 36)))
    assert found.refused_for.keys() == {"busy", "traffic"}
    assert found.refused_for["traffic"] == pytest.approx(60, abs=1)


def test_interfaces_of_other_places_and_cpus_of_others_do_not_count(tmp_path: Path) -> None:
    found = seen(tmp_path, record(carried=range(31, 36)), places=["probe"], cpus=[1])
    assert found.refused == 0


def test_without_a_record_nothing_is_known(tmp_path: Path) -> None:
    found = seen(tmp_path, synthetic.hosts())
    assert (found.kept, found.refused, found.unknown) == (0, 0, 400)
    assert found.share_of_time is None
