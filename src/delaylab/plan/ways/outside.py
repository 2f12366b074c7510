"""The way of a probe to a host outside of the lab: the points of the sender's side only."""

from __future__ import annotations

from delaylab.errors import BadInput
from delaylab.plan.attachment import TapPoint
from delaylab.plan.kept import KeptPlan
from delaylab.plan.ways.probe_way import (
    NO_QUEUE_STAMP,
    SAME_AS_UPLINK,
    ProbeWay,
)
from delaylab.plan.ways.probed import ProbedPackets
from delaylab.points import SOCKET_POINTS
from delaylab.resolve.agent_names import node_agent

LOOPBACK = "lo"
OUTSIDE = "the host is outside of the lab: nothing there is stamped"
NO_VIF = "the node has no virtual interface: it is in its host's stack"
OWN_INTERFACE = "the sender's own interface leads outside: `stack` is there"


def outside_way(plan: KeptPlan, probe: ProbedPackets, interface: str) -> ProbeWay:
    """Return the way of a probe whose packets leave the sender's stack by an interface.

    Raises BadInput if the address is that of a node.
    """
    _check_no_node(plan, probe.to)
    in_host = not plan.nodes[probe.sender].own_stack and interface != LOOPBACK
    uplink = ("uplink",) if in_host else ()
    absent = {f"responder.{point}": OUTSIDE for point in (*SOCKET_POINTS, "vif", "uplink")}
    absent |= {"wire": OUTSIDE, "sender.vif": NO_VIF if in_host else OWN_INTERFACE}
    if not in_host:
        absent["sender.uplink"] = OWN_INTERFACE
    sockets: tuple[str, ...] = SOCKET_POINTS
    if probe.by_port:
        absent["sender.qdisc"] = NO_QUEUE_STAMP
        sockets = ("app",) if in_host else ("app", "stack")
        absent |= {"sender.stack": SAME_AS_UPLINK} if in_host else {}
    out = [point for point in ("app", "qdisc", *uplink, "stack") if point in (*sockets, *uplink)]
    back = [point for point in (*uplink, "stack", "app") if point in (*sockets, *uplink)]
    return ProbeWay(
        source=None,
        target=probe.to,
        taps=tuple(
            TapPoint(node_agent(probe.sender), interface, f"sender.{point}") for point in uplink
        ),
        request=tuple(f"sender.{point}" for point in out),
        reply=tuple(f"sender.{point}" for point in back),
        absent=absent,
        hops=(),
    )


def _check_no_node(plan: KeptPlan, address: str) -> None:
    """Raise BadInput if an address is one of a node's interfaces."""
    for names in plan.names:
        if names.address == address:
            node = names.names[0].split(".")[0]
            what = f"{address} is the address of node {node!r} of the lab"
            raise BadInput(what, fix=f"say `to: {node}`")
