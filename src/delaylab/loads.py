"""Competing work: stress-ng's stressors and iperf3's bulk TCP, run in nodes through their agents.

The stressors follow Whiteaker et al. 2011, section 3.3: CPU loops over sqrt(), I/O over sync(),
disk alternates write() and unlink(), memory maps, touches and unmaps; network is two TCP
connections that send in opposite directions through the measured interface.
"""

from __future__ import annotations

import ipaddress
import re
import shutil
import signal
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import yaml

from delaylab.errors import DelaylabError, NotHere
from delaylab.lab import Lab
from delaylab.spec import CONTAINERS, MACHINES, LoadSpec
from delaylab.wireline import AgentError, Frame, FrameKind, Session

START_DEADLINE_S = 20
STOP_DEADLINE_S = 20
POLL_S = 0.05
QUIET_BYTES = 20_000
"""Less than this on an interface within one poll is quiet: no bulk flow does so little."""

_STRESSORS = {
    "cpu": ("--cpu", "{n}", "--cpu-method", "sqrt"),
    "io": ("--io", "{n}"),
    "disk": ("--hdd", "{n}", "--hdd-bytes", "64m", "--temp-path", "/var/tmp"),
    "memory": ("--vm", "{n}", "--vm-bytes", "256m"),
}
_IN_A_MACHINE = {"--vm-bytes": "40%", "--hdd-bytes": "16m", "--temp-path": "/tmp"}
"""A virtual machine has little memory, and its disk is a part of it."""
_IN_A_CONTAINER = {"--temp-path": "/tmp"}
_DISPATCHED = re.compile(rb"dispatching hogs")
_LISTENING = re.compile(rb"Server listening")
_FLOWS = (re.compile(rb"\[TX-C\].*sec"), re.compile(rb"\[RX-C\].*sec"))
_ONE_FLOW = (re.compile(rb"\[ *\d+\].*sec"),)


@dataclass
class Output:
    """What a load's program has said so far."""

    text: bytearray = field(default_factory=bytearray)
    stdout: bytearray = field(default_factory=bytearray)

    def add(self, frame: Frame) -> None:
        """Take one frame of output."""
        self.text.extend(frame.payload)
        if frame.kind == FrameKind.STDOUT:
            self.stdout.extend(frame.payload)


@dataclass
class Achieved:
    """What a load was asked to do and what it did, as a trial records it."""

    load: LoadSpec
    achieved: dict[str, float]

    def record(self) -> dict[str, Any]:
        """The entry in trial.json."""
        asked = self.load.network or self.load.workers
        return {
            "load": self.load.what,
            "on": self.load.on,
            "to": self.load.to,
            "asked": str(asked),
            "achieved": self.achieved,
        }


def missing_tools(loads: list[LoadSpec]) -> list[str]:
    """The programs that loads need and this machine does not have."""
    tools = {"iperf3" if load.network else "stress-ng" for load in loads}
    return sorted(tool for tool in tools if shutil.which(tool) is None)


def require_tools(loads: list[LoadSpec]) -> None:
    """NotHere, with what to install, if a load's program is missing."""
    missing = missing_tools(loads)
    if missing:
        names = " ".join(missing)
        raise NotHere(f"the study's loads need {names}", fix=f"apt-get install {names}")


class Running:
    """Loads that run; `sessions` are to be watched while they do."""

    def __init__(self) -> None:
        self.sessions: list[Session] = []
        self.achieved: list[Achieved] = []


@contextmanager
def running(lab: Lab, loads: tuple[LoadSpec, ...]) -> Iterator[Running]:
    """Loads for the length of a block: all at work when it begins, all stopped when it ends."""
    state = Running()
    with ExitStack() as stack:
        starts = [(_network if load.network else _stressor)(lab, load, state) for load in loads]
        # Side by side: in an emulated machine each takes seconds.
        with ThreadPoolExecutor(max(len(starts), 1)) as pool:
            list(pool.map(stack.enter_context, starts))
        yield state


@contextmanager
def _stressor(lab: Lab, load: LoadSpec, state: Running) -> Iterator[None]:
    session = lab.node_session(load.on)
    argv = ["stress-ng", *_options(lab, load), "--metrics", "--yaml", "/dev/stdout"]
    output = _start(session, argv, (_DISPATCHED,))
    state.sessions.append(session)
    yield
    state.sessions.remove(session)
    _end(session)
    state.achieved.append(Achieved(load, _metrics(bytes(output.stdout))))
    session.close()


def _options(lab: Lab, load: LoadSpec) -> list[str]:
    """A stressor's options, within what its node has."""
    options = [part.format(n=load.workers) for part in _STRESSORS[load.what]]
    kind = lab.spec.nodes[load.on].kind
    own = _IN_A_MACHINE if kind in MACHINES else _IN_A_CONTAINER if kind in CONTAINERS else {}
    for position, option in enumerate(options[:-1]):
        options[position + 1] = own.get(option, options[position + 1])
    return options


@contextmanager
def _network(lab: Lab, load: LoadSpec, state: Running) -> Iterator[None]:
    assert load.to is not None
    link = _shared_link(lab, load)
    address = {node: _address(lab, node, link) for node in (load.on, load.to)}
    port = str(20_000 + zlib.crc32(f"{lab.name}/{load.on}".encode()) % 20_000)
    server, client = lab.node_session(load.to), lab.node_session(load.on)
    listen = ["iperf3", "--server", "--bind", address[load.to], "--port", port, "--forceflush"]
    _start(server, listen, (_LISTENING,))
    direction = {"both-ways": ["--bidir"], "send": [], "receive": ["--reverse"]}[str(load.network)]
    argv = ["iperf3", "--client", address[load.to], "--bind", address[load.on], "--port", port]
    argv += ["--time", "86400", "--interval", "0.5", "--forceflush", *direction]
    _start(client, argv, _FLOWS if load.network == "both-ways" else _ONE_FLOW)
    state.sessions += [client, server]
    meter = _Meter(lab, load.on, link)
    before = meter.read()
    yield
    after = meter.read()
    state.achieved.append(Achieved(load, _rates(before, after)))
    for session in (client, server):
        state.sessions.remove(session)
        _end(session)
        session.close()
    meter.wait_quiet()


def _start(session: Session, argv: list[str], ready: tuple[re.Pattern[bytes], ...]) -> Output:
    """Run a program until its output shows that it is at work; returns its growing output."""
    output = Output()
    session.on_output = output.add
    session.start("exec", argv=argv)
    session.event(START_DEADLINE_S)
    deadline = time.monotonic() + START_DEADLINE_S
    while not all(pattern.search(output.text) for pattern in ready):
        try:
            session.read_output(deadline - time.monotonic())
        except AgentError as error:
            said = output.text.decode(errors="replace").strip().splitlines()
            last = said[-1] if said else error.what
            raise DelaylabError(f"{argv[0]} did not start: {last}", session.label) from None
    return output


def _end(session: Session) -> None:
    session.signal(signal.SIGINT)
    session.finish(STOP_DEADLINE_S)


def _metrics(output: bytes) -> dict[str, float]:
    """Operations and CPU use from the YAML that stress-ng ends with."""
    start = output.find(b"metrics:")
    if start < 0:
        return {}
    try:
        document = yaml.safe_load(output[start:].split(b"\n...")[0].decode(errors="replace"))
    except yaml.YAMLError:
        return {}
    metrics = (document or {}).get("metrics") or [{}]
    wanted = {
        "bogo-ops": "operations",
        "bogo-ops-per-second-real-time": "operations_per_s",
        "cpu-usage-per-instance": "cpu_percent_per_worker",
    }
    found = metrics[0]
    return {ours: float(found[theirs]) for theirs, ours in wanted.items() if theirs in found}


def _shared_link(lab: Lab, load: LoadSpec) -> str:
    far = {interface.link for interface in lab.plan.interfaces[str(load.to)]}
    for interface in lab.plan.interfaces[load.on]:
        if interface.link in far:
            return interface.link
    raise DelaylabError(f"the network load joins {load.on!r} and {load.to!r}, which share no link")


def _address(lab: Lab, node: str, link: str) -> str:
    interface = next(i for i in lab.plan.interfaces[node] if i.link == link)
    return str(ipaddress.ip_interface(interface.addresses[0]).ip)


class _Meter:
    """Byte counters of the interface that a network load goes through, as the kernel has them."""

    def __init__(self, lab: Lab, node: str, link: str) -> None:
        self._session = lab.node_session(node)
        self._interface = next(i.name for i in lab.plan.interfaces[node] if i.link == link)

    def read(self) -> tuple[float, int, int]:
        """(monotonic seconds, bytes sent, bytes received)."""
        counters = self._session.call("counters").done["interfaces"][self._interface]
        return time.monotonic(), counters["tx_bytes"], counters["rx_bytes"]

    def wait_quiet(self) -> None:
        """Return once queues have drained, so that what follows is at rest."""
        deadline = time.monotonic() + STOP_DEADLINE_S
        last = self.read()
        while time.monotonic() < deadline:
            time.sleep(POLL_S)  # there is no event for "nothing came"
            now = self.read()
            if now[1] - last[1] < QUIET_BYTES and now[2] - last[2] < QUIET_BYTES:
                break
            last = now
        self._session.close()


def _rates(before: tuple[float, int, int], after: tuple[float, int, int]) -> dict[str, float]:
    seconds = max(after[0] - before[0], 1e-9)
    return {
        "sent_bps": (after[1] - before[1]) * 8 / seconds,
        "received_bps": (after[2] - before[2]) * 8 / seconds,
    }
