"""The probe's runs in a trial, and their packets and stamps as tables."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from delaylab.api.agents import Probe, ProbeDone, Result, Watched, wait_watching
from delaylab.api.causes import Connection
from delaylab.api.plans import ProbeWay
from delaylab.api.records import Doubt
from delaylab.api.running import LiveLab
from delaylab.api.units import Duration
from delaylab_study.dataset.records.tables import ANSWERS
from delaylab_study.loads.asking import agent_protocol, ask
from delaylab_study.study_file.probe import ClosedLoop, Pace, ProbeSpec
from delaylab_study.trial.asked import asked_packets
from delaylab_study.trial.frames import frame
from delaylab_study.trial.instruments import Instruments
from delaylab_study.trial.machine_states import READY_S
from delaylab_study.trial.ports import identifier, port
from delaylab_study.trial.requested import failed

TEST_BURST_BIT = 1 << 31
"""The bit that marks the probe ids of trial bursts; ids of a trial's own probes count from 1."""


class Sender:
    """A sender of the probe's runs, one after another, with consecutive sequence numbers."""

    def __init__(
        self,
        lab: LiveLab,
        path: ProbeWay,
        probe: ProbeSpec,
        probe_id: int,
        instruments: Instruments,
    ) -> None:
        self._session = lab.node_session(probe.sender)
        self._path, self._probe, self._id = path, probe, probe_id
        self._instruments = instruments
        self._next = 0
        self.stamps: list[pl.DataFrame] = []
        self.packets: list[pl.DataFrame] = []
        self.exchanges: list[pl.DataFrame] = []
        self._asked: list[pl.DataFrame] = []
        self.warnings: list[Doubt] = []
        self.clock = ""

    @property
    def next_seq(self) -> int:
        """Return the sequence number of the next packet."""
        return self._next

    def run(self, phase: str, count: int, pace: Pace, watched: Sequence[Watched] = ()) -> None:
        """Send `count` packets; raise at once if an instrument or a session of `watched` fails."""
        if count == 0:
            return
        result = self._send(self._id, self._next, count, pace, watched)
        self._next += count
        done = result.done
        self.clock = done.clock
        known = {warning.message for warning in self.warnings}
        self.warnings += [each for each in done.warnings if each.message not in known]
        self.stamps.append(frame(result, "stamps"))
        packets = asked_packets(result)
        self._asked.append(packets)
        self.packets.append(_of_phase(phase, packets))
        self.exchanges.append(frame(result, "exchanges"))

    @property
    def answers(self) -> pl.DataFrame:
        """Return what is known of the answers to all requests; no rows if they are no requests."""
        return pl.concat(self.exchanges).select(*ANSWERS)

    @property
    def connections(self) -> dict[tuple[int, int], Connection]:
        """Return the connection of each request, by its probe and sequence number."""
        asked = pl.concat(self.exchanges).select("probe", "seq", "port")
        return {
            (probe, seq): Connection(port=own, service_port=port(self._probe))
            for probe, seq, own in asked.iter_rows()
        }

    @property
    def doubts(self) -> list[Doubt]:
        """Return the doubts of the agent, and that requests to a service failed."""
        asks = self._asked and ask(self._probe) is not None
        return [*self.warnings, *(failed(pl.concat(self._asked)) if asks else ())]

    def burst(self, count: int, interval: Duration) -> Result[ProbeDone]:
        """Send packets that are not part of the trial and that the taps ignore.

        They have a probe id of their own. A handshake carries no id: its source port is below those
        of the trial.
        """
        below = count if self._probe.by_port else 0
        return self._send(self._id | TEST_BURST_BIT, 0, count, interval, (), below)

    def _send(
        self,
        probe: int,
        first: int,
        count: int,
        pace: Pace,
        watched: Sequence[Watched],
        below: int = 0,
    ) -> Result[ProbeDone]:
        closed = isinstance(pace, ClosedLoop)
        request = Probe(
            probe=probe,
            protocol=agent_protocol(self._probe),
            to=self._path.target,
            source=self._path.source,
            port=port(self._probe),
            ident=identifier(self._probe, self._id) - below,
            count=count,
            interval_ns=0 if isinstance(pace, ClosedLoop) else pace.ns,
            timeout_ns=pace.timeout.ns if isinstance(pace, ClosedLoop) else 0,
            batch=1 if closed else 0,
            size=self._probe.size,
            first_seq=first,
            linger_ns=self._probe.late.ns,
            late_ns=self._probe.late.ns,
            stamps=self._path.by_sender,
            ask=ask(self._probe),
            realtime=self._probe.realtime,
            # Programs would hand a reply over before the sender's own stack had it.
            tcx=not closed,
        )
        result = self._session.start(request)
        self._session.event(READY_S)
        wait_watching(self._session, [*self._instruments.all(), *watched])
        return result


def _of_phase(phase: str, packets: pl.DataFrame) -> pl.DataFrame:
    return packets.select(
        "probe",
        "seq",
        pl.lit(phase).alias("phase"),
        "intended_ns",
        "sent_ns",
        (pl.col("sent_ns") - pl.col("intended_ns")).alias("slip_ns"),
        "outcome",
        "duplicates",
        "reordered",
    )
