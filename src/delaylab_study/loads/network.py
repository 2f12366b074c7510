"""Bulk TCP by iperf3."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from delaylab.api.plans import node_path
from delaylab.api.running import LiveLab
from delaylab_study.loads.meter import Meter, address_of, rates
from delaylab_study.loads.programs import end, start
from delaylab_study.loads.state import Achieved, RunningLoads
from delaylab_study.study_file.loads import NetworkLoad

_LISTENING = re.compile(rb"Server listening")
_FLOWS = (re.compile(rb"\[TX-C\].*sec"), re.compile(rb"\[RX-C\].*sec"))
_ONE_FLOW = (re.compile(rb"\[ *\d+\].*sec"),)


@contextmanager
def network(lab: LiveLab, load: NetworkLoad, state: RunningLoads) -> Iterator[None]:
    """Run bulk TCP between two nodes for the length of a block."""
    links = node_path(lab.plan, lab.spec, load.on, load.to).links
    address = {
        load.on: address_of(lab, load.on, links[0]),
        load.to: address_of(lab, load.to, links[-1]),
    }
    port = str(20_000 + zlib.crc32(f"{lab.name}/{load.on}".encode()) % 20_000)
    server, client = lab.node_session(load.to), lab.node_session(load.on)
    listen = ["iperf3", "--server", "--bind", address[load.to], "--port", port, "--forceflush"]
    start(server, listen, (_LISTENING,))
    direction = {"both-ways": ["--bidir"], "send": [], "receive": ["--reverse"]}[load.network]
    argv = ["iperf3", "--client", address[load.to], "--bind", address[load.on], "--port", port]
    argv += ["--time", "86400", "--interval", "0.5", "--forceflush", *direction]
    start(client, argv, _FLOWS if load.network == "both-ways" else _ONE_FLOW)
    state.sessions += [client, server]
    meter = Meter(lab, load.on, links[0])
    before = meter.read()
    yield
    after = meter.read()
    state.achieved.append(Achieved(load, {**rates(before, after), **_uplink(lab, load.on)}))
    for session in (client, server):
        state.sessions.remove(session)
        end(session)
        session.close()
    meter.wait_quiet()


def _uplink(lab: LiveLab, node: str) -> dict[str, float]:
    """Return the rate of the uplink that a node's frames leave its host by, if it has one."""
    host = lab.spec.hosts.get(lab.spec.host_of(node))
    return {"uplink_bps": float(host.uplink.rate.bps)} if host and host.uplink else {}
