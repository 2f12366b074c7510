"""The phases of a trial with a probe: at rest, under load, at rest again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import polars as pl

from delaylab.api.plans import ProbeWay
from delaylab.api.running import LiveLab
from delaylab.api.units import Duration
from delaylab_study import loads
from delaylab_study.dataset.records.feedback import Feedback
from delaylab_study.dataset.records.rates import Search
from delaylab_study.dataset.records.trial import RestBlock
from delaylab_study.study_file.combine import Combination
from delaylab_study.study_file.probe import Pace, ProbeSpec
from delaylab_study.trial import events, rate_search
from delaylab_study.trial.again import send_again
from delaylab_study.trial.cpus import CpuWatch, watching_cpus
from delaylab_study.trial.instruments import Instruments, listening, stop, switch_taps, tap
from delaylab_study.trial.rest import alternate, schedule
from delaylab_study.trial.sender import Sender
from delaylab_study.trial.under_load import UnderLoad, under_load
from delaylab_study.work.crew import Crew


@dataclass(frozen=True)
class Phases:
    """Packets and recordings of all phases. `pace` is that of the packets under load.

    `feedback` is what was sent again, None if the probe has no `clean`.
    """

    sender: Sender
    instruments: Instruments
    rest: list[RestBlock]
    search: Search | None
    pace: Pace
    under_load: UnderLoad
    feedback: Feedback | None
    cpus: CpuWatch

    @property
    def packets(self) -> pl.DataFrame:
        """Return the packets of all phases as one table."""
        return pl.concat(self.sender.packets)


def run(
    lab: LiveLab,
    combination: Combination,
    probe: ProbeSpec,
    path: ProbeWay,
    probe_id: int,
    *,
    pcap: Path | None,
    rates: Sequence[loads.FoundRate],
) -> Phases:
    """Send the packets of all phases, with taps, loads and work; arguments as of `measure`."""
    with (
        watching_cpus(lab, probe) as cpus,
        listening(lab, probe, probe_id) as instruments,
    ):
        sender = Sender(lab, path, probe, probe_id, instruments)
        events.prepare(lab)
        tap(instruments, lab, path, probe, probe_id, pcap)
        blocks = schedule(probe.at_rest, probe_id)
        rest = alternate(sender, blocks, probe.pace_at_rest, partial(switch_taps, instruments))
        search = _search(probe, sender)
        pace = Duration(search.interval_ns) if search else probe.pace
        feedback: list[Feedback] = []

        def send(load: loads.RunningLoads, crew: Crew, happening: events.RunningEvents) -> None:
            crew.go()
            acting = [*load.sessions, *crew.workers]
            sender.run("load", probe.count, pace, acting)
            if probe.clean is not None:
                feedback.append(send_again(lab, probe, sender, instruments, acting))
            crew.wait([*load.sessions, *instruments.all()])
            happening.wait([*load.sessions, *instruments.all()])

        arrives_by = path.hops[-1].link if path.hops else None
        loaded = under_load(lab, combination, arrives_by, rates, send)
        sender.run("after", probe.at_rest, probe.pace_at_rest)
        stop(instruments)
        cpus.look(sender.packets, sender.stamps, sender.connections)
    clean = feedback[0] if feedback else None
    return Phases(sender, instruments, rest, search, pace, loaded, feedback=clean, cpus=cpus)


def _search(probe: ProbeSpec, sender: Sender) -> Search | None:
    """Return the search for the shortest interval that the lab holds, if the probe asks for it."""
    if not probe.held or not isinstance(probe.pace, Duration):
        return None
    return rate_search.search(probe.pace, sender.burst)
