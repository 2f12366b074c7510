"""A lab of two nodes, a probe between them, and a cause that is injected while it runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from delaylab.agent.measuring_requests import Probe, Reflect
from delaylab.agent.recording import CpuRecording
from delaylab.agent.session import Session
from delaylab.agent.wire.cpus import CpusDone
from delaylab.agent.wire.sessions import Hello
from delaylab.causes.explained import Explained
from delaylab.lab.links.passages import LinkRecords
from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary
from delaylab.machines import LOCAL
from delaylab.resolve.resolve import lab_from_data
from delaylab.verbs.ping.late import LostPacket
from delaylab.verbs.ping.reading import Reader, finish
from delaylab.verbs.ping.result import PingPacket
from delaylab.verbs.ping.why import WhyWatch
from tests.truth.alone import alone

SENDER_CPU, RESPONDER_CPU, ENGINE_CPU = 0, 1, 1
INTERVAL_NS = 4_000_000
AHEAD_NS = 500_000_000
"""The time before the first injection: packets that nothing disturbs."""
LEAST_LATE_NS = 100_000
"""The time by which a packet takes longer than the median that is looked at."""
ROOT, INJECTOR = Path(__file__).parents[2], "tests.truth.injector"
Pairs = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Log:
    """An injector's own log: times of start and end in ns since 1970.

    Of `doubtful` times it does not know if they were as planned.
    """

    injected: Pairs
    doubtful: Pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The packets of one run, why the late and the lost ones were so, and what was injected.

    `quiet` are usual packets, with the causes of what little they take more than their median.
    """

    packets: Sequence[PingPacket]
    explained: Sequence[Explained]
    lost: Sequence[LostPacket]
    logs: Sequence[Log]
    recorded: CpusDone
    quiet: Sequence[Explained]


@dataclass(frozen=True, slots=True)
class Scene:
    """A running lab, with the processes that send, answer, and are the link engine.

    The responder is at the address `to` and `port`, at its node's `interface`; packets leave the
    sender's node `by` another one.
    """

    lab: LiveLab
    sender: Session
    sender_pid: int
    responder_pid: int
    engine_pid: int | None
    to: str
    port: int
    interface: str
    by: str


@contextmanager
def scene(
    link: dict[str, object] | None = None,
    responder_cpu: int = RESPONDER_CPU,
    port: int | None = None,
    kind: str = "netns",
) -> Iterator[Scene]:
    """Have a lab of two nodes, bound to CPUs, and a responder in one; a link engine is on CPU 1.

    With a `port` something else will answer there. `kind` is that of the second node; the process
    of a virtual machine is that of its CPU.
    """
    spec = lab_from_data(
        {
            "lab": f"truth{os.getpid()}",
            "nodes": {
                "one": {"cpus": [SENDER_CPU]},
                "two": {"cpus": [responder_cpu], "kind": kind},
            },
            "links": [{"between": ["one", "two"], **(link or {})}],
        }
    )
    with alone(), temporary(spec, accounting=False) as lab, ExitStack() as stack:
        sessions = {name: lab.node_session(name) for name in ("one", "two")}
        for each in sessions.values():
            stack.callback(each.close)
        pids = {}
        for name, session in sessions.items():
            first, inside = lab.pid(f"node.{name}"), session.call(Hello()).done.pid
            own_kernel = name == "two" and kind != "netns"
            pid = _child(_child(first)) if own_kernel else LOCAL.child(first, inside)
            assert pid is not None, "the session's process"
            pids[name] = pid
        if port is None:
            sessions["two"].start(Reflect(ip=4, stamps=True))
            port = sessions["two"].port(10)
        by, at = (lab.plan.nodes[name].attachments[0] for name in ("one", "two"))
        engine = _engine(lab) if link else None
        one, two = pids["one"], pids["two"]
        yield Scene(lab, sessions["one"], one, two, engine, at.address, port, at.device, by.device)


def _engine(lab: LiveLab) -> int:
    """Return the process of the link engine, and bind it to CPU 1."""
    engine = _child(lab.pid("link.here"))
    for thread in Path(f"/proc/{engine}/task").iterdir():
        os.sched_setaffinity(int(thread.name), {ENGINE_CPU})
    return engine


def _child(parent: int) -> int:
    """Return the only child of a process."""
    (child,) = map(int, Path(f"/proc/{parent}/task/{parent}/children").read_text().split())
    return child


@contextmanager
def group_of(controller: str, pids: Sequence[int]) -> Iterator[Path]:
    """Have a control group with these processes; all of its processes go back at the end."""
    found = Path(f"/sys/fs/cgroup/{controller}/truth{os.getpid()}")
    found.mkdir()
    try:
        for pid in pids:
            (found / "cgroup.procs").write_text(str(pid))
        yield found
    finally:
        for left in (found / "cgroup.procs").read_text().split():
            (found.parent / "cgroup.procs").write_text(left)
        found.rmdir()


@contextmanager
def injector(
    what: str, argument: str, within: Sequence[str] = ()
) -> Iterator[subprocess.Popen[str]]:
    """Have the program that injects a cause, ready for its plan, as words of another command."""
    started = subprocess.Popen(
        [*within, "env", f"PYTHONPATH={ROOT}", sys.executable, "-m", INJECTOR, what, argument],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert started.stdout is not None
        assert started.stdout.readline() == "ready\n"
        yield started
    finally:
        started.kill()
        started.wait()


def run(
    made: Scene,
    by: Sequence[subprocess.Popen[str]],
    plans: Sequence[Pairs],
    end_ns: int,
    *,
    realtime: bool,
) -> Seen:
    """Send packets while each injector carries out its plan, and for some time after `end_ns`.

    Moments count from the first possible injection.
    """
    last_ns = end_ns + AHEAD_NS
    packets: list[PingPacket] = []
    with ExitStack() as stack:
        # This process computes when packets are late: not on the responder's CPU.
        stack.callback(os.sched_setaffinity, 0, os.sched_getaffinity(0))
        os.sched_setaffinity(0, {SENDER_CPU})
        session = LOCAL.session()
        stack.callback(session.close)
        recording = CpuRecording(session)
        recording.await_ready()
        probe = os.getpid()
        links = stack.enter_context(closing(LinkRecords(made.lab)))
        sender = frozenset[int | str]({made.sender_pid})
        why = WhyWatch(recording, sender, probe=probe, links=links, late_ns=LEAST_LATE_NS)

        def note(packet: PingPacket) -> None:
            packets.append(packet)
            why.add(packet)

        start_ns = time.time_ns() + AHEAD_NS
        for each, plan in zip(by, plans, strict=True):
            assert each.stdin is not None
            moments = [(start_ns + at, length) for at, length in plan]
            each.stdin.write(json.dumps(moments) + "\n")
            each.stdin.flush()
        asked = Probe(
            probe=probe,
            protocol="udp",
            to=made.to,
            port=made.port,
            count=(AHEAD_NS + last_ns) // INTERVAL_NS,
            interval_ns=INTERVAL_NS,
            size=64,
            linger_ns=1_000_000_000,
            late_ns=1_000_000_000,
            stamps=("app", "stack"),
            realtime=realtime,
            live=True,
        )
        made.sender.start(asked)
        reader = Reader(made.sender, note)
        finish([reader], None, recording)
        assert reader.failed is None, reader.failed
        found = why.end()
        assert found.failed is None, found.failed
        assert found.recorded is not None
        return Seen(
            packets=packets,
            explained=found.explained,
            lost=found.lost,
            logs=[_log(each) for each in by],
            recorded=found.recorded,
            quiet=why.explained_usual(),
        )


def _log(by: subprocess.Popen[str]) -> Log:
    assert by.stdout is not None
    log: dict[str, list[tuple[int, int]]] = json.loads(by.stdout.readline())
    return Log(log["done"], log["doubtful"])
