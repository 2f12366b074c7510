"""One trial: a lab, a load, a probe run; at rest, under load, at rest again."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from delaylab import hosts, loads
from delaylab.lab import Lab, temporary
from delaylab.plan import Way, node_agent, way
from delaylab.spec import Combination, ProbeSpec, host_of
from delaylab.units import Duration
from delaylab.wireline import Result, Session, wait_watching

WATCH_INTERVAL_NS = 100_000_000
READY_S = 20
LEGS = ("request", "reply")
SENDER, RESPONDER = "sender", "responder"
CLOCK_STEP_NS = 500_000
UDP_PORT = 8462


@dataclass
class Recording:
    """What a trial leaves: the tables, and its record but for the study's own fields."""

    record: dict[str, Any]
    stamps: pl.DataFrame
    probes: pl.DataFrame
    hosts: pl.DataFrame


@dataclass
class _Instruments:
    """Everything that listens while packets fly."""

    taps: list[Session] = field(default_factory=list)
    reflector: Session | None = None
    watch: Session | None = None

    def all(self) -> list[Session]:
        return [s for s in (*self.taps, self.reflector, self.watch) if s is not None]


def run(combination: Combination, probe_id: int, pcap: Path | None = None) -> Recording:
    """Bring the lab up, measure, take it down; DelaylabError if anything of it failed.

    `pcap`: a folder for the packets themselves, one pcapng file per agent that taps.
    """
    with temporary(combination.lab) as lab:
        return measure(lab, combination, probe_id, pcap)


def measure(
    lab: Lab, combination: Combination, probe_id: int, pcap: Path | None = None
) -> Recording:
    """Measure in a lab that is up.

    Phases: `untapped`, at rest before the taps are on, so that their cost can be told; `before`,
    at rest; `load`; `after`, at rest again.
    """
    probe = combination.probe
    path = way(lab.plan, combination.lab, probe)
    responder = node_agent(probe.to)
    clock_before = _wall_minus_monotonic()
    icmp_before = _icmp(lab, responder)
    at_rest = (probe.at_rest, probe.at_rest_interval or probe.interval)
    with _listening(lab, probe, probe_id) as instruments:
        sender = _Sender(lab, path, probe, probe_id, instruments)
        sender.run("untapped", *at_rest)
        _tap(instruments, lab, path, probe, probe_id, pcap)
        sender.run("before", *at_rest)
        with loads.running(lab, combination.loads) as load:
            sender.run("load", probe.count, probe.interval, load.sessions)
        sender.run("after", *at_rest)
        taps, reflected, watched = _stop(instruments)
    icmp_after = _icmp(lab, responder)
    clock_step = _wall_minus_monotonic() - clock_before
    tap_records = [entry for tap in taps for entry in tap.done["interfaces"]]
    record = {
        "sender": _node(combination, probe.sender),
        "responder": _node(combination, probe.to),
        "protocol": probe.protocol,
        "size_bytes": probe.size,
        "interval_ns": probe.interval.ns,
        "path": {"request": list(path.request), "reply": list(path.reply)},
        "absent": path.absent,
        "clock": sender.clock,
        "warnings": [
            *sender.warnings,
            *({"kind": "fabric", "message": text, "remedy": ""} for text in lab.warnings),
            *_tap_warnings(tap_records),
            *_clock_warnings(clock_step),
        ],
        "loads": [achieved.record() for achieved in load.achieved],
        "taps": tap_records,
        "responder_icmp": {name: icmp_after[name] - icmp_before[name] for name in icmp_after},
    }
    return Recording(
        record,
        _stamps(sender, taps, reflected),
        pl.concat(sender.packets),
        watched.table("hosts"),
    )


class _Sender:
    """The probe's runs, one after another, with sequence numbers that go on."""

    def __init__(
        self, lab: Lab, path: Way, probe: ProbeSpec, probe_id: int, instruments: _Instruments
    ) -> None:
        self._session = lab.node_session(probe.sender)
        self._path, self._probe, self._id = path, probe, probe_id
        self._instruments = instruments
        self._next = 0
        self.stamps: list[pl.DataFrame] = []
        self.packets: list[pl.DataFrame] = []
        self.warnings: list[dict[str, str]] = []
        self.clock = ""

    def run(
        self, phase: str, count: int, interval: Duration, watched: Sequence[Session] = ()
    ) -> None:
        """Send `count` packets; a failure of what listens or loads ends it at once."""
        if count == 0:
            return
        self._session.start(
            "probe",
            probe=self._id,
            protocol=self._probe.protocol,
            to=self._path.target,
            source=self._path.source,
            port=UDP_PORT,
            ident=identifier(self._id),
            count=count,
            interval_ns=interval.ns,
            size=self._probe.size,
            first_seq=self._next,
            linger_ns=self._probe.late.ns,
            late_ns=self._probe.late.ns,
            stamps=["app", "qdisc", "stack"],
            realtime=self._probe.realtime,
        )
        self._session.event(READY_S)
        result = wait_watching(self._session, [*self._instruments.all(), *watched])
        self._next += count
        self.clock = result.done["clock"]
        known = {warning["message"] for warning in self.warnings}
        self.warnings += [
            w for w in map(_warning, result.done["warnings"]) if w["message"] not in known
        ]
        self.stamps.append(result.table("stamps"))
        packets = result.table("packets")
        self.packets.append(
            packets.select(
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
        )


def identifier(probe_id: int) -> int:
    """The ICMP identifier or UDP source port of a probe: never a privileged or an odd one."""
    return 33_000 + probe_id % 20_000


@contextmanager
def _listening(lab: Lab, probe: ProbeSpec, probe_id: int) -> Iterator[_Instruments]:
    """Reflector and machine record; both ready when the block begins."""
    instruments = _Instruments()
    if probe.protocol == "udp":
        instruments.reflector = lab.node_session(probe.to)
        instruments.reflector.start(
            "reflect", port=UDP_PORT, ip=probe.ip, stamps=True, probe=probe_id
        )
    instruments.watch = hosts.local_session()
    try:
        instruments.watch.start("watch", interval_ns=WATCH_INTERVAL_NS, places=_places(lab))
        for session in instruments.all():
            session.event(READY_S)
        yield instruments
    finally:
        instruments.watch.close()


def _tap(
    instruments: _Instruments,
    lab: Lab,
    path: Way,
    probe: ProbeSpec,
    probe_id: int,
    pcap: Path | None,
) -> None:
    """Switch the taps on; all are ready on return."""
    filter_ = {
        "probe": probe_id,
        "protocol": probe.protocol,
        "ident": identifier(probe_id),
        "ip": probe.ip,
        "port": UDP_PORT,
    }
    if pcap is not None:
        pcap.mkdir(parents=True, exist_ok=True)
    for agent in dict.fromkeys(tap.agent for tap in path.taps):
        wanted = [
            {"name": tap.interface, "point": tap.point} for tap in path.taps if tap.agent == agent
        ]
        file = None if pcap is None else str((pcap / f"{agent}.pcapng").resolve())
        session = lab.session(agent)
        session.start("tap", interfaces=wanted, filter=filter_, pcap=file)
        instruments.taps.append(session)
    for session in instruments.taps:
        session.event(READY_S)


def _stop(instruments: _Instruments) -> tuple[list[Result], Result | None, Result]:
    for session in instruments.all():
        session.stop()
    taps = [tap.finish(READY_S) for tap in instruments.taps]
    reflected = instruments.reflector.finish(READY_S) if instruments.reflector else None
    assert instruments.watch is not None
    return taps, reflected, instruments.watch.finish(READY_S)


def _places(lab: Lab) -> list[dict[str, Any]]:
    agents = lab.keeper["agents"]
    return [
        {"name": name.removeprefix("node."), "pid": agent["pid"], "cgroups": agent["cgroups"]}
        for name, agent in agents.items()
    ]


def _stamps(sender: _Sender, taps: list[Result], reflected: Result | None) -> pl.DataFrame:
    parts = [stamps.with_columns(_prefixed(SENDER)) for stamps in sender.stamps]
    if reflected is not None:
        parts.append(reflected.table("stamps").with_columns(_prefixed(RESPONDER)))
    parts += [tap.table("stamps").with_columns(pl.col("point").cast(pl.String)) for tap in taps]
    return (
        pl.concat(parts)
        .with_columns(
            pl.col("leg").replace_strict({0: LEGS[0], 1: LEGS[1]}, return_dtype=pl.String),
            pl.lit(sender.clock).alias("clock"),
        )
        .select("probe", "seq", "leg", "point", "time_ns", "clock")
    )


def _prefixed(side: str) -> pl.Expr:
    return (side + "." + pl.col("point").cast(pl.String)).alias("point")


def _node(combination: Combination, node: str) -> dict[str, str]:
    lab = combination.lab
    return {"node": node, "host": host_of(lab, node), "kind": lab.nodes[node].kind}


def _icmp(lab: Lab, agent: str) -> dict[str, int]:
    session = lab.session(agent)
    counters: dict[str, int] = session.call("counters").done["snmp"]["Icmp"]
    session.close()
    return counters


def _wall_minus_monotonic() -> int:
    return time.time_ns() - time.monotonic_ns()


def _warning(text: str | dict[str, str]) -> dict[str, str]:
    if isinstance(text, dict):
        return text
    return {"kind": "probe", "message": text, "remedy": ""}


def _tap_warnings(taps: list[dict[str, Any]]) -> list[dict[str, str]]:
    return [
        {
            "kind": "dropped-stamps",
            "message": f"the tap at {tap['point']} dropped {tap['dropped']} packets",
            "remedy": "lower the probe's rate, or give the host a CPU of its own",
        }
        for tap in taps
        if tap["dropped"]
    ]


def _clock_warnings(step_ns: int) -> list[dict[str, str]]:
    if abs(step_ns) < CLOCK_STEP_NS:
        return []
    return [
        {
            "kind": "clock-step",
            "message": f"the machine's clock was set by {step_ns / 1e6:.3f} ms during the trial",
            "remedy": "stop time synchronisation while measuring, or let it slew",
        }
    ]
