"""Dataset for tests in which a program has the sender's CPU while some answers have arrived."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from delaylab.api.causes import IDLE, CpuRecord, CpuWindow, How, Task, What, by_cpu
from delaylab.api.machines import LOCAL
from delaylab_study.trial.cpus import CpuTables, Kernel, answered, chosen
from tests import synthetic
from tests.synthetic import Condition, constant

LAB, SENDER, HOG = "home-1", 10, 30
PROBE = Task(process=SENDER, name="node.probe", lab=LAB, place="node.probe", of_agent=True)
LAST = ("reply", "sender.app")
SLOW_US, QUICK_US = 3000, 40
"""The time in the last segment, from the kernel to the program, of each tenth packet and others."""
TENTH = Condition(
    packets=1000,
    at_rest=40,
    default=constant(5),
    slip=constant(2),
    delays={LAST: lambda random, n: np.where(random.random(n) < 0.1, float(SLOW_US), QUICK_US)},
)
KERNEL = Kernel("local", synthetic.TRUE.name, LOCAL.session)
BEFORE_NS, AFTER_NS = 20_000_000, 1_000_000
SOON_NS = 10_000


def write(folder: Path, hog: str = "hog", *, clean: bool = False) -> Path:
    """Write a study in which a program has the sender's CPU while slow packets have arrived.

    With `clean` the sender soon gets its CPU back around the other packets.
    """
    stamps, probes = synthetic.tables(TENTH)
    synthetic.write_study(folder, synthetic.study([TENTH], []))
    places = {"sender.app": {"at": "node.probe", "interface": None}}
    raw = synthetic.trial(TENTH, 0) | {"places": places}
    synthetic.write_trial(folder, raw, stamps, probes, synthetic.hosts())
    app = (pl.col("leg") == "reply") & (pl.col("point") == "sender.app")
    ends = stamps.filter(app).with_columns(leg=pl.lit(1), point=pl.lit("app"))
    tables = CpuTables(LAB)
    for packet in chosen(answered(probes, ends)).iter_rows(named=True):
        window = _window(packet["due_ns"], packet["until_ns"], hog, clean=clean)
        probe, seq, usual, drawn = (packet[name] for name in ("probe", "seq", "usual", "drawn"))
        tables.add(KERNEL, probe, seq, usual, drawn, window)
    for name, table in tables.tables.items():
        table.write_parquet(folder / "trials" / TENTH.id / f"{name}.parquet")
    return folder


def _window(due_ns: int, until_ns: int, hog: str, *, clean: bool) -> CpuWindow:
    """Have the CPU idle, then the sender, then the hog from just after it until the end."""
    woken_ns = max(due_ns + 20_000, until_ns - SLOW_US * 1000 + 1000)
    quick = until_ns - due_ns < SLOW_US * 1000
    back_ns = woken_ns + SOON_NS if clean and quick else until_ns - 2_000
    switches = (
        (due_ns - 10_000_000, IDLE, HOG),
        (due_ns + 500, SENDER, IDLE),
        (due_ns + 15_000, HOG, SENDER),
        (back_ns, SENDER, HOG),
        (until_ns + 50_000, IDLE, SENDER),
    )
    records = [
        CpuRecord(
            time_ns=at_ns,
            cpu=0,
            what=What.SWITCH,
            how=How.RUNNABLE if other == HOG else How.ASLEEP,
            task=task,
            other=other,
            number=number,
        )
        for number, (at_ns, task, other) in enumerate(switches)
    ]
    wakings = ((due_ns, How.BY_TIMER, IDLE), (woken_ns, How.BY_NETWORK, HOG))
    records += [
        CpuRecord(time_ns=at_ns, cpu=0, what=What.WAKING, how=how, task=SENDER, other=running)
        for at_ns, how, running in wakings
    ]
    return CpuWindow(
        start_ns=due_ns - BEFORE_NS,
        end_ns=until_ns + AFTER_NS,
        records=by_cpu(records),
        tasks={SENDER: PROBE, HOG: Task(process=HOG, name=hog)},
    )
