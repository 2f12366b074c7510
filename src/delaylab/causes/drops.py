"""Packets of a probe that a kernel dropped: why, and where."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

REASONS: Mapping[str, str] = {
    "NO_SOCKET": "nobody listened at its port",
    "SOCKET_RCVBUFF": "the receive buffer of its socket was full",
    "PROTO_MEM": "the memory of its protocol was used up",
    "CPU_BACKLOG": "the backlog of a CPU was full",
    "QDISC_DROP": "the queue of an interface was full",
    "QDISC_OVERLIMIT": "the queue of an interface was full",
    "QDISC_CONGESTED": "a queue dropped it to keep delays short",
    "TC_EGRESS": "a program at the interface dropped it",
    "XDP": "a program at the interface dropped it",
    "NETFILTER_DROP": "a firewall rule dropped it",
    "IP_INNOROUTES": "there was no route to its destination",
    "IP_OUTNOROUTES": "there was no route to its destination",
    "IP_INADDRERRORS": "its destination address is not here",
    "OTHERHOST": "its MAC address is that of another interface",
    "IP_RPFILTER": "its source had no route back (rp_filter)",
    "NEIGH_FAILED": "the next hop did not answer",
    "NEIGH_QUEUEFULL": "too many packets waited for the next hop's address",
    "NEIGH_CREATEFAIL": "the table of neighbours was full",
    "DEV_READY": "the interface was down",
    "DEV_HDR": "the interface was down",
    "FULL_RING": "the ring of an interface was full",
    "NOMEM": "memory was used up",
    "PKT_TOO_BIG": "it was longer than the MTU",
    "UDP_CSUM": "its checksum was wrong",
    "ICMP_CSUM": "its checksum was wrong",
    "IP_CSUM": "its checksum was wrong",
    "BPF_CGROUP_EGRESS": "a program at a control group dropped it",
}
"""The kernel's reasons in words, without `SKB_DROP_REASON_` (include/net/dropreason-core.h)."""

LOST = ("lost", "refused")
"""Outcomes of packets that a kernel may have dropped, some of them before they were sent."""
UNSEEN_LOSS = "no kernel here dropped it: a link lost it, or nobody answered"
"""The words for a lost packet that no kernel was seen to drop."""
UNANSWERED = "no kernel or link here lost it: nobody answered"
"""The words for one that no link lost, either."""
HOST, GATE = "host.", "lo"
"""The start of the places of hosts, and the interface at which an engine holds frames."""
BY_PROGRAM = "TC_"
"""The start of the reasons of packets that a program at an interface dropped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """A packet of a probe that a kernel dropped; `time_ns` is in ns since the Unix epoch.

    `reason` is the kernel's name for why, None if it has none. `interface` is that of the packet,
    None if it had none, and `place` the part of the lab that this is in.
    """

    time_ns: int
    probe: int
    seq: int
    cpu: int
    reason: str | None
    interface: str | None
    lab: str | None
    place: str | None

    @property
    def of_link(self) -> bool:
        """Return True if a link's program dropped it: the conditions of the lab's file."""
        at_host = (self.place or "").startswith(HOST)
        return at_host and (self.reason or "").startswith(BY_PROGRAM)

    @property
    def text(self) -> str:
        """Return why and where the kernel dropped it."""
        if self.of_link:
            return f"dropped by a link, as configured (at {self.interface} of {self.place})"
        reason = self.reason or "a reason without a name"
        words = REASONS.get(reason)
        why = f"{words} ({reason})" if words else reason
        where = " of ".join(filter(None, (self.interface, self.place)))
        return f"dropped by the kernel{f' at {where}' if where else ''}: {why}"


def last_drops(drops: Iterable[Drop]) -> dict[tuple[int, int], Drop]:
    """Return the last drop of each packet, by its probe and sequence number.

    Copies of a packet may be dropped earlier, such as those for taps. A link engine drops the frame
    that waited at `lo` once it has sent a copy (crates/os/bpf/gate.c): that is no loss.
    """
    return {
        (each.probe, each.seq): each
        for each in sorted(drops, key=lambda drop: drop.time_ns)
        if not (each.of_link and each.interface == GATE)
    }
