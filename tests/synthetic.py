"""A seeded generator of datasets with known delays, losses and missing points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.signal import lfilter

from delaylab.records.base import LOCAL_NAME
from delaylab_study.analysis.claims.imagined import ACTED
from delaylab_study.dataset import store
from delaylab_study.dataset.records.tables import HOSTS, TABLES
from delaylab_study.dataset.records.trial import RestBlock
from delaylab_study.trial.rest import schedule
from tests.machine import machine

REQUEST = {
    "netns": [f"sender.{p}" for p in ("app", "qdisc", "stack", "vif", "uplink")] + ["wire"],
    "native": [f"sender.{p}" for p in ("app", "qdisc", "uplink", "stack")] + ["wire"],
}
REPLY = {
    "netns": ["wire"] + [f"sender.{p}" for p in ("uplink", "vif", "stack", "app")],
    "native": ["wire"] + [f"sender.{p}" for p in ("uplink", "stack", "app")],
}
CLOCK = "realtime@12345678"
START = 1_700_000_000_000_000_000
Delay = Callable[[np.random.Generator, int], NDArray[np.float64]]


def exponential(mean_us: float, least_us: float = 0) -> Delay:
    return lambda random, n: least_us + random.exponential(mean_us, n)


def constant(us: float) -> Delay:
    return lambda random, n: np.full(n, us)


def lognormal(median_us: float, sigma: float = 0.3) -> Delay:
    return lambda random, n: median_us * random.lognormal(0, sigma, n)


def queue(mean_us: float, correlation: float = 0.9) -> Delay:
    """A queue's wait: exponential, autocorrelated from packet to packet."""

    def draw(random: np.random.Generator, n: int) -> NDArray[np.float64]:
        shocks = random.normal(0, np.sqrt(1 - correlation**2), n)
        before = [correlation * random.normal()]
        level, _ = lfilter([1], [1, -correlation], shocks, zi=before)
        return mean_us * np.exp(level - 0.5)

    return draw


@dataclass(frozen=True)
class Clock:
    """A clock that runs against the true time: ahead by an offset, drifting, set now and then.

    `steps` are pairs of the true time since `START` and the size, in ns. `slews` are the times from
    which and until which it is slewed, and the rate in ns per ns. It shows its last tick.
    """

    name: str
    offset_ns: int = 0
    drift: float = 0.0
    steps: tuple[tuple[int, int], ...] = ()
    slews: tuple[tuple[int, int, float], ...] = ()
    tick_ns: int = 1

    def ahead(self, true_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """How far it is ahead of the true time at true times, in ns."""
        drifted = np.rint((true_ns - START) * self.drift).astype(np.int64) + self.offset_ns
        for when, size in self.steps:
            drifted = drifted + np.where(true_ns - START >= when, size, 0)
        for begin, end, rate in self.slews:
            lasted = np.clip(true_ns - START - begin, 0, end - begin)
            drifted = drifted + np.rint(lasted * rate).astype(np.int64)
        return np.asarray(drifted, dtype=np.int64)

    def show(self, true_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """What it shows at true times, in ns."""
        return (true_ns + self.ahead(true_ns)) // self.tick_ns * self.tick_ns


TRUE = Clock(CLOCK)


@dataclass
class Condition:
    """One trial's truth: the delay in µs of the segment that ends at (leg, point)."""

    environment: str = "netns"
    load: str = "rest"
    repeat: int = 1
    packets: int = 200
    at_rest: int = 0
    untapped: int = 0
    in_turn: bool = False
    tap_cost_us: float = 0.0
    kind: str | None = None
    default: Delay = field(default_factory=lambda: lognormal(5))
    delays: dict[tuple[str, str], Delay] = field(default_factory=dict)
    lost_after: dict[int, tuple[str, str]] = field(default_factory=dict)
    refused: tuple[int, ...] = ()
    unseen: list[tuple[int, str, str]] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)
    responder_points: tuple[str, ...] = ()
    slip: Delay = field(default_factory=lambda: lognormal(3))
    interval_ns: int = 5_000_000
    timeout_ns: int | None = None
    seed: int = 0
    clocks: dict[str, Clock] = field(default_factory=dict)
    readings: list[dict[str, Any]] = field(default_factory=list)
    factors: dict[str, str] = field(default_factory=dict)
    skipped: str | None = None
    warnings: list[dict[str, str]] = field(default_factory=list)
    links: list[dict[str, Any]] = field(default_factory=list)
    underlays: list[dict[str, Any]] = field(default_factory=list)
    hops: list[dict[str, str]] = field(default_factory=list)
    achieved: dict[str, float] = field(default_factory=dict)
    machine: str = ""

    def clock(self, point: str) -> Clock:
        """The clock of a point, by its name or by the node's part of it; left out: the true one."""
        return self.clocks.get(point, self.clocks.get(_place(point), TRUE))

    @property
    def rest_blocks(self) -> list[RestBlock]:
        """The blocks at rest, if those without taps take turns with as many that have them."""
        assert not self.in_turn or self.untapped == self.at_rest
        return schedule(self.at_rest, self.seed) if self.in_turn else []

    @property
    def phases(self) -> list[str]:
        """The phase of each packet."""
        first = ["untapped"] * self.untapped + ["before"] * self.at_rest
        if self.in_turn:
            blocks = [(b.packets, "before" if b.tapped else "untapped") for b in self.rest_blocks]
            first = [phase for packets, phase in blocks for _ in range(packets)]
        return first + ["load"] * self.packets + ["after"] * self.at_rest

    @property
    def id(self) -> str:
        levels = [f"{factor}={level}" for factor, level in self.levels.items()]
        return ",".join([*levels, f"repeat={self.repeat}"])

    @property
    def levels(self) -> dict[str, str]:
        return self.factors or {"environment": self.environment, "load": self.load}

    @property
    def technology(self) -> str:
        return self.kind or {"shared": "shared", "native": "native"}.get(self.environment, "netns")

    def stations(self) -> list[tuple[str, str]]:
        style = "netns" if self.technology not in ("native", "shared") else "native"
        if self.hops:
            return self._over_routers()
        far = self.responder_points
        legs = [("request", p) for p in (*REQUEST[style], *far)]
        legs += [("reply", p) for p in (*reversed(far), *REPLY[style])]
        return [(leg, point) for leg, point in legs if point not in self.absent]

    def _over_routers(self) -> list[tuple[str, str]]:
        """A point-to-point link between neighbours, a tap at both interfaces of each router."""
        near = ["sender.app", "sender.qdisc", "sender.stack", "sender.vif"]
        routers = [f"hop{n}.{side}" for n in range(1, len(self.hops)) for side in ("near", "far")]
        way = [*near, *routers, "responder.stack"]
        back = [point for point in reversed(way) if point != "sender.qdisc"]
        return [("request", point) for point in way] + [("reply", point) for point in back]


def hops(*nodes: str) -> list[dict[str, str]]:
    """The links from node to node, each named by its two nodes; the first is the sender."""
    last = len(nodes) - 2
    return [
        {
            "link": f"{start}-{end}",
            "start": start,
            "end": end,
            "near": "sender.vif" if index == 0 else f"hop{index}.far",
            "far": "responder.vif" if index == last else f"hop{index + 1}.near",
        }
        for index, (start, end) in enumerate(pairwise(nodes))
    ]


def write_study(directory: Path, raw: dict[str, Any]) -> None:
    """Write a study's record given as JSON values."""
    store.write_study(directory, store.study_record(raw))


def write_trial(directory: Path, raw: dict[str, Any], *parts: pl.DataFrame) -> None:
    """Write a trial given as JSON values, with its stamps, probes, hosts and, if any, progress."""
    tables = dict(zip(TABLES, parts, strict=False))
    store.write_trial(directory, store.trial_record(raw), tables)


def write(
    directory: Path,
    conditions: list[Condition],
    claims: list[str] | None = None,
    source: str = "",
    own_claims: list[dict[str, Any]] | None = None,
) -> Path:
    """Write a study of these trials, which repeats the paper `source`; return its directory.

    Claims of its own are judged after those that it names.
    """
    names = [*(claims or []), *(claim["claim"] for claim in own_claims or [])]
    more = {"spec": {"study": "synthetic", "source": source}, "own_claims": own_claims or []}
    write_study(directory, study(conditions, names) | more)
    for index, condition in enumerate(conditions):
        stamps, probes = tables(condition)
        record = trial(condition, index)
        if condition.skipped:
            record |= {"status": "skipped", "reason": condition.skipped}
            stamps, probes = stamps.clear(), probes.clear()
        write_trial(directory, record, stamps, probes, hosts())
    return directory


def study(conditions: list[Condition], claims: list[str]) -> dict[str, Any]:
    return {
        "format": 2,
        "study": "synthetic",
        "title": "A study with a known answer",
        "seed": 1,
        "scale": "quick",
        "spec": {"study": "synthetic"},
        "factors": {
            factor: list(dict.fromkeys(c.levels[factor] for c in conditions))
            for factor in (conditions[0].levels if conditions else ())
        },
        "claims": claims,
        "planned": [c.id for c in conditions],
        "machines": {
            name: machine(CLOCK)
            for name in (LOCAL_NAME, *sorted({c.machine for c in conditions if c.machine}))
        },
        "created": "2026-01-01T00:00:00+00:00",
    }


def trial(condition: Condition, index: int) -> dict[str, Any]:
    stations = condition.stations()
    loads = [] if condition.load == "rest" else [condition.load]
    return {
        "id": condition.id,
        "index": index,
        "factors": condition.levels,
        "repeat": condition.repeat,
        "status": "ok",
        "reason": None,
        "started": "2026-01-01T00:00:00+00:00",
        "ended": "2026-01-01T00:00:09+00:00",
        "sender": {"node": "probe", "host": "sut", "kind": condition.technology},
        "responder": {"node": "echo", "host": "target", "kind": "native"},
        "protocol": "icmp",
        "size_bytes": 100,
        "interval_ns": condition.interval_ns if condition.timeout_ns is None else 0,
        "timeout_ns": condition.timeout_ns,
        "ways": [
            {
                "request": [p for leg, p in stations if leg == "request"],
                "reply": [p for leg, p in stations if leg == "reply"],
                "hops": condition.hops or [{"link": "lan", "start": "probe", "end": "echo"}],
            }
        ],
        "absent": condition.absent,
        "clock": condition.clock("sender.app").name,
        "clock_readings": condition.readings,
        "warnings": condition.warnings,
        "loads": [
            {
                "load": load,
                "on": "noisy",
                "to": None,
                "asked": {load: 1},
                "achieved": condition.achieved or ACTED.get(load, {}),
            }
            for load in loads
        ],
        "taps": [{"point": "wire", "packets": 2 * condition.packets, "dropped": 0}],
        "links": condition.links,
        "underlays": condition.underlays,
        "rest_blocks": [block.model_dump() for block in condition.rest_blocks],
        "responder_icmp": {"OutErrors": 0},
        "hosts": dict.fromkeys(("sut", "target"), condition.machine) if condition.machine else {},
    }


def tables(condition: Condition) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The stamps and the schedule of one trial."""
    random = np.random.default_rng(condition.seed)
    n = len(condition.phases)
    off = np.array(condition.phases) == "untapped"
    seq = np.arange(n, dtype=np.uint32)
    intended = START + seq.astype(np.int64) * condition.interval_ns
    slip = _ns(condition.slip(random, n))
    stations = condition.stations()
    now = intended + slip
    alive = np.ones(n, dtype=bool)
    alive[list(condition.refused)] = False
    parts = []
    for index, station in enumerate(stations):
        if index:
            now = now + _ns(condition.delays.get(station, condition.default)(random, n))
            now[~off] += round(1000 * condition.tap_cost_us / (len(stations) - 1))
        seen = alive.copy()
        if not station[1].endswith((".app", ".qdisc", ".stack")):
            seen[off] = False
        seen[[s for s, leg, point in condition.unseen if (leg, point) == station]] = False
        clock = condition.clock(station[1])
        parts.append(_stamps(station, seq[seen], clock.show(now[seen]), clock.name))
        alive[[s for s, last in condition.lost_after.items() if last == station]] = False
    outcomes = np.where(alive, "replied", "lost").astype(object)
    outcomes[list(condition.refused)] = "refused"
    probes = pl.DataFrame(
        {
            "probe": np.ones(n, dtype=np.uint32),
            "seq": seq,
            "phase": condition.phases,
            "intended_ns": condition.clock("sender.app").show(intended),
            "sent_ns": condition.clock("sender.app").show(intended + slip),
            "slip_ns": slip,
            "outcome": outcomes.astype(str),
            "duplicates": np.zeros(n, dtype=np.uint16),
            "reordered": np.zeros(n, dtype=bool),
        }
    )
    return pl.concat(parts).sample(fraction=1, shuffle=True, seed=condition.seed), probes


SAMPLE_NS = 100_000_000


def hosts(
    samples: int = 0,
    busy: float = 0.1,
    steal: float = 0.0,
    pressure: float = 0.0,
    dropped: int = 0,
    missing: tuple[int, ...] = (),
    softirq: float = 0.0,
) -> pl.DataFrame:
    """The record of a machine of two CPUs in a steady state, whose node `probe` uses 0.1 CPUs."""
    rows = [(START, "sut", "unknown", 0.5)]
    for index in range(samples + 1):
        time = START + index * SAMPLE_NS
        metrics = {f"cpu{n}.system": 0.0 for n in (0, 1)}
        for cpu in (0, 1):
            metrics[f"cpu{cpu}.softirq"] = softirq
            metrics[f"cpu{cpu}.user"] = busy - steal - softirq
            metrics[f"cpu{cpu}.steal"] = steal
            metrics[f"cpu{cpu}.idle"] = 1 - busy
        metrics["pressure.cpu.some_us"] = 7e6 + index * pressure * SAMPLE_NS / 1000
        if samples and index not in missing:
            rows += [(time, "machine", name, value) for name, value in metrics.items()]
            rows += [(time, "probe", "cpus", 0.1)]
            rows += [(time, "host.sut", "uplink.tx_dropped", 3.0 + dropped * index / samples)]
    columns = [name for name in HOSTS if name != "machine"]
    table = pl.DataFrame(rows, schema=columns, orient="row")
    return table.with_columns(pl.lit(LOCAL_NAME).alias("machine")).select(*HOSTS)


def _ns(us: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.round(us * 1000).astype(np.int64)


def _stamps(
    station: tuple[str, str], seq: NDArray[np.uint32], time: NDArray[np.int64], clock: str
) -> pl.DataFrame:
    leg, point = station
    return pl.DataFrame({"probe": np.ones(len(seq), dtype=np.uint32), "seq": seq}).with_columns(
        pl.lit(leg).cast(pl.Categorical).alias("leg"),
        pl.lit(point).cast(pl.Categorical).alias("point"),
        pl.Series("time_ns", time),
        pl.lit(clock).cast(pl.Categorical).alias("clock"),
    )


def _place(point: str) -> str:
    """`sender` and `responder` for what a node's own kernel stamps, else `machine`."""
    side, _, name = point.partition(".")
    return side if name in ("app", "qdisc", "stack") else "machine"
