"""The phases of a trial with a probe: at rest, under load, at rest again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import polars as pl

from delaylab import loads
from delaylab.dataset.records.rates import Search
from delaylab.dataset.records.trial import RestBlock
from delaylab.lab.running import Lab
from delaylab.plan.ways.probe_way import ProbeWay
from delaylab.spec.study.combine import Combination
from delaylab.spec.study.model import Pace, ProbeSpec
from delaylab.trial import events, rate_search
from delaylab.trial.instruments import Instruments, listening, stop, switch_taps, tap
from delaylab.trial.repeats import LEGS
from delaylab.trial.rest import alternate, schedule
from delaylab.trial.sender import Sender
from delaylab.trial.under_load import UnderLoad, under_load
from delaylab.units import Duration
from delaylab.work.crew import Crew

SENDER, RESPONDER = "sender", "responder"


@dataclass(frozen=True)
class Phases:
    """Packets and recordings of all phases. `pace` is that of the packets under load."""

    sender: Sender
    instruments: Instruments
    rest: list[RestBlock]
    search: Search | None
    pace: Pace
    under_load: UnderLoad

    @property
    def packets(self) -> pl.DataFrame:
        """Return the packets of all phases as one table."""
        return pl.concat(self.sender.packets)

    def stamps(self, lab: Lab, *, again: bool = False) -> pl.DataFrame:
        """Return all stamps as one table, each with the name of its kernel's clock.

        With `again` they include those that taps took of packets that they had seen before, by
        which loops are found.
        """
        own = _of_clock(self.sender.clock)
        parts = [stamps.with_columns(_prefixed(SENDER), own) for stamps in self.sender.stamps]
        for reflector, reflected in self.instruments.reflector.items():
            clock = _of_clock(lab.clock(reflector.label))
            parts.append(reflected.table("stamps").with_columns(_prefixed(RESPONDER), clock))
        for session, result in self.instruments.taps.items():
            clock = _of_clock(lab.clock(session.label))
            parts += [
                result.table(name).with_columns(pl.col("point").cast(pl.String), clock)
                for name in ("stamps", "repeats")[: 2 if again else 1]
            ]
        legs = pl.col("leg").replace_strict(dict(enumerate(LEGS)), return_dtype=pl.String)
        return (
            pl.concat(parts)
            .with_columns(legs)
            .select("probe", "seq", "leg", "point", "time_ns", "clock")
        )


def run(
    lab: Lab,
    combination: Combination,
    probe: ProbeSpec,
    path: ProbeWay,
    probe_id: int,
    pcap: Path | None,
    rates: Sequence[loads.FoundRate],
) -> Phases:
    """Send the packets of all phases, with taps, loads and work; arguments as of `measure`."""
    with listening(lab, probe, probe_id) as instruments:
        sender = Sender(lab, path, probe, probe_id, instruments)
        events.prepare(lab)
        tap(instruments, lab, path, probe, probe_id, pcap)
        blocks = schedule(probe.at_rest, probe_id)
        rest = alternate(sender, blocks, probe.pace_at_rest, partial(switch_taps, instruments))
        search = _search(probe, sender)
        pace = Duration(search.interval_ns) if search else probe.pace

        def send(load: loads.Running, crew: Crew, happening: events.Running) -> None:
            crew.go()
            sender.run("load", probe.count, pace, [*load.sessions, *crew.workers])
            crew.wait([*load.sessions, *instruments.all()])
            happening.wait([*load.sessions, *instruments.all()])

        arrives_by = path.hops[-1].link if path.hops else None
        loaded = under_load(lab, combination, arrives_by, rates, send)
        sender.run("after", probe.at_rest, probe.pace_at_rest)
        stop(instruments)
    return Phases(sender, instruments, rest, search, pace, loaded)


def _search(probe: ProbeSpec, sender: Sender) -> Search | None:
    """Return the search for the shortest interval that the lab holds, if the probe asks for it."""
    if not probe.held or not isinstance(probe.pace, Duration):
        return None
    return rate_search.search(probe.pace, sender.burst)


def _of_clock(name: str) -> pl.Expr:
    return pl.lit(name).alias("clock")


def _prefixed(side: str) -> pl.Expr:
    return (side + "." + pl.col("point").cast(pl.String)).alias("point")
