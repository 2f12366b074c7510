"""Control of the figure "the taps add": the same measurement with taps that stay on throughout."""

from __future__ import annotations

import statistics
from functools import partial

import polars as pl

from benches.pair import FAR, NEAR
from benches.section import Section
from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary
from delaylab.plan.ways.probe_way import ProbeWay, probe_way
from delaylab.resolve.resolve import lab_from_data
from delaylab_study.analysis.packets.instrument import Cost, at_rest, cost
from delaylab_study.analysis.packets.segments import aligned
from delaylab_study.analysis.packets.trial import TrialPackets
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.dataset.records.ways import Way
from delaylab_study.study_file.probe import ProbeSpec
from delaylab_study.trial.instruments import listening, stop, switch_taps, tap
from delaylab_study.trial.rest import alternate, schedule
from delaylab_study.trial.sender import Sender

RUNS = 100
PROBE = {"from": NEAR, "to": FAR, "at_rest": 20, "interval": "5ms", "late": "200ms"}
HOSTS: dict[str, dict[str, object]] = {"here": {}, "there": {}}


def run() -> Section:
    """Measure the taps' cost many times, with taps switched and with taps that stay on, in turn."""
    spec = lab_from_data(
        {
            "lab": "tapcost",
            "hosts": HOSTS,
            "nodes": {NEAR: {"host": "here"}, FAR: {"host": "there"}},
            "links": [{"join": [NEAR, FAR], "name": "lan"}],
        }
    )
    probe = ProbeSpec.model_validate(PROBE)
    found: dict[bool, list[Cost]] = {True: [], False: []}
    with temporary(spec) as lab:
        path = probe_way(lab.plan, spec, probe)
        for number in range(RUNS):
            for switched, costs in found.items():
                costs.append(_measure(lab, path, probe, 2 * number + switched + 1, switched))
                lab.close()
    section = Section(
        "instrument",
        "The taps' cost, and its control",
        f"{RUNS} runs of {probe.at_rest} packets at rest with the taps off and as many with the "
        "taps on, in blocks by turns, between two network namespaces on two hosts. In the control "
        "the taps stay on, so they add nothing to either. Goal: in the control at most 7 of 100 "
        "intervals exclude 0.",
        ("taps", "runs", "intervals that exclude 0", "median of what they add, µs", "pairs a run"),
    )
    for switched, costs in found.items():
        added = [each.added for each in costs if each.added]
        excluded = sum(effect.interval[0] > 0 or effect.interval[1] < 0 for effect in added)
        section.rows.append(
            (
                "off and on" if switched else "on throughout (control)",
                str(len(added)),
                str(excluded),
                f"{statistics.median(effect.value for effect in added):+.2f}",
                f"{statistics.median(each.pairs for each in costs):.0f}",
            )
        )
    return section


def _measure(lab: LiveLab, path: ProbeWay, probe: ProbeSpec, probe_id: int, switched: bool) -> Cost:
    """Return the taps' cost from one run; without `switched` all of its packets are tapped."""
    with listening(lab, probe, probe_id) as instruments:
        sender = Sender(lab, path, probe, probe_id, instruments)
        tap(instruments, lab, path, probe, probe_id, None)
        switch = partial(switch_taps, instruments) if switched else _leave
        blocks = schedule(probe.at_rest, probe_id)
        rest = alternate(sender, blocks, probe.pace_at_rest, switch)
        stop(instruments)
    stamps = pl.concat(sender.stamps).with_columns(
        ("sender." + pl.col("point").cast(pl.String)).alias("point"),
        pl.col("leg").replace_strict({0: "request", 1: "reply"}, return_dtype=pl.String),
        pl.lit(sender.clock).alias("clock"),
    )
    ends = Way(request=["sender.app"], reply=["sender.app"])
    trial = TrialRecord(
        id="run", index=0, factors={}, repeat=1, status="ok", ways=[ends], rest_blocks=rest
    )
    return cost([at_rest([TrialPackets(trial, *aligned(stamps, pl.concat(sender.packets), ends))])])


def _leave(on: bool) -> None:
    """Leave the taps as they are."""
