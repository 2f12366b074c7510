"""Benchmark of campaigns whose processes die: delaylab, HyperQueue and Ray under the same kills."""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.doing.campaigns.test_kills import REPEATS, deeds
from tests.doing.campaigns.test_quiet import wake_ups

from benches.campaign_engines import ENGINES, Engine, Machines
from benches.pair import need
from benches.section import Section

SEEDS = (1, 2, 3)
TRIALS = 2 * REPEATS
IDLE_S = 10.0
STUCK_S = 180.0
"""The time without a new trial after which those that are left are lost."""
LOOK_S = 0.1


@dataclass(frozen=True, slots=True)
class Idle:
    """The CPU time in %, wake-ups in a second, and memory of an idle worker's processes."""

    cpu_percent: float
    wake_ups: float
    mebibytes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run under kills: trials that were lost, and measurements beyond one for each other."""

    lost: int
    again: int
    seconds: float
    by_hand: Sequence[str]
    idle: Idle


def run() -> Section:
    """Run the same trials by each engine, and kill the same at the same moments."""
    need("hq", "ray")
    section = Section(
        "campaign_kills",
        f"{TRIALS} trials under the same kills",
        f"Four workers, each in a network of its own; sums over {len(SEEDS)} runs, whose seeds "
        "draw the moments of the kills. At the same four moments two workers are "
        "killed with -9, the network to one is cut, and what knows which trials are done is "
        "killed: `delaylab run`, `hq server` (with a journal), Ray's driver. HyperQueue and Ray "
        "run `delaylab run` for each trial, into a folder of its own; the driver leaves out what "
        "is there. *Begun again*: measurements beyond one for each trial. Here a `delaylab run` of "
        "HyperQueue or Ray outlives the worker that started it, and ends its trial; it would not "
        "if the machine died. *By hand*: "
        "what a person does after the kills. *Idle worker*: all of its processes, for "
        f"{IDLE_S:g} s.",
        (
            "engine",
            "trials lost",
            "begun again",
            "seconds a run",
            "by hand",
            "idle: CPU, wake-ups a second, memory",
        ),
    )
    for name, engine in ENGINES.items():
        runs = []
        for seed in SEEDS:
            with tempfile.TemporaryDirectory(prefix="dlk-") as folder, machines() as made:
                runs.append(_run(engine(Path(folder), made, TRIALS), seed))
        section.rows.append((name, *_cells(runs)))
    return section


def _cells(runs: Sequence[Run]) -> tuple[str, ...]:
    idle = [each.idle for each in runs]
    used = (
        f"{statistics.median(each.cpu_percent for each in idle):.1f} %",
        f"{statistics.median(each.wake_ups for each in idle):.0f}",
        f"{statistics.median(each.mebibytes for each in idle):.0f} MiB",
    )
    return (
        str(sum(each.lost for each in runs)),
        str(sum(each.again for each in runs)),
        ", ".join(f"{each.seconds:.0f}" for each in runs),
        "; ".join(runs[0].by_hand),
        ", ".join(used),
    )


def _run(engine: Engine, seed: int) -> Run:
    try:
        engine.start()
        idle = idle_of(engine.worker_processes("lab4"))
        began = time.monotonic()
        engine.begin()
        by_hand: list[str] = []
        for moment, what in deeds(seed):
            _wait(engine, lambda at=moment: engine.done() >= at)  # type: ignore[misc]
            if what == "network":
                engine.machines.cut("lab4")
            elif what == "command":
                by_hand += engine.kill_coordinator()
            else:
                engine.kill_worker(what)
        _wait(engine, lambda: engine.done() >= TRIALS)
        took = time.monotonic() - began
        lost, again = TRIALS - engine.done(), engine.begun() - TRIALS
        return Run(lost=lost, again=again + lost, seconds=took, by_hand=by_hand, idle=idle)
    finally:
        engine.close()


def _wait(engine: Engine, true: Callable[[], bool]) -> None:
    """Wait until something is true, as long as trials are added."""
    done, since_s = engine.done(), time.monotonic()
    while not true() and time.monotonic() - since_s < STUCK_S:
        time.sleep(LOOK_S)
        if (now := engine.done()) != done:
            done, since_s = now, time.monotonic()


def idle_of(processes: list[int]) -> Idle:
    """Return what processes use while nothing is asked of them."""
    before = [_used(pid) for pid in processes]
    time.sleep(IDLE_S)
    after = [_used(pid) for pid in processes]
    used = [
        (cpu - cpu_before, wakes - wakes_before)
        for (cpu, wakes), (cpu_before, wakes_before) in zip(after, before, strict=True)
    ]
    return Idle(
        100 * sum(cpu for cpu, _ in used) / IDLE_S,
        sum(wakes for _, wakes in used) / IDLE_S,
        sum(map(_resident, processes)) / 2**20,
    )


def _used(pid: int) -> tuple[float, int]:
    """Return the CPU seconds of a process, and how often its threads slept and were woken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), wake_ups(pid)


def _resident(pid: int) -> int:
    """Return the bytes of a process that no other process shares, and its share of the rest."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0


@contextmanager
def machines() -> Iterator[Machines]:
    """Have a network for the coordinator and one for each worker, joined by a bridge."""
    made = Machines(f"dlk{os.getpid()}")
    names = [made.hub, *made.workers.values()]
    for name in names:
        _ip("netns", "add", name)
    try:
        _ip("-n", made.hub, "link", "add", "lan", "type", "bridge")
        _ip("-n", made.hub, "addr", "add", f"{made.hub_address}/24", "dev", "lan")
        _ip("-n", made.hub, "link", "set", "lan", "up")
        _ip("-n", made.hub, "link", "set", "lo", "up")
        for worker, name in made.workers.items():
            peer = ["type", "veth", "peer", "name", "lan", "netns", name]
            _ip("-n", made.hub, "link", "add", worker, *peer)
            _ip("-n", made.hub, "link", "set", worker, "master", "lan", "up")
            _ip("-n", name, "addr", "add", f"{made.address(worker)}/24", "dev", "lan")
            _ip("-n", name, "link", "set", "lan", "up")
            _ip("-n", name, "link", "set", "lo", "up")
        yield made
    finally:
        for name in names:
            _ip("netns", "del", name)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)
