"""Schemas of a trial's tables, and the meaning of their columns (docs/dataset.md)."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
from polars.datatypes import DataTypeClass

from delaylab.api.records import LOCAL_NAME

Schema = Mapping[str, DataTypeClass]
"""The type of each column of a table."""
STAMPS = {
    "probe": pl.UInt32,
    "seq": pl.UInt32,
    "leg": pl.Categorical,
    "point": pl.Categorical,
    "time_ns": pl.Int64,
    "clock": pl.Categorical,
}
PROBES = {
    "probe": pl.UInt32,
    "seq": pl.UInt32,
    "phase": pl.String,
    "intended_ns": pl.Int64,
    "sent_ns": pl.Int64,
    "slip_ns": pl.Int64,
    "outcome": pl.String,
    "duplicates": pl.UInt16,
    "reordered": pl.Boolean,
}
ANSWERS = {
    "probe": pl.UInt32,
    "seq": pl.UInt32,
    "handshake_ns": pl.Int64,
    "tls_ns": pl.Int64,
    "whole_ns": pl.Int64,
    "status": pl.UInt16,
    "bytes": pl.Int64,
}
HOSTS = {
    "time_ns": pl.Int64,
    "machine": pl.String,
    "place": pl.String,
    "metric": pl.String,
    "value": pl.Float64,
}
PROGRESS = {"work": pl.String, "node": pl.String, "since_ns": pl.Int64, "done": pl.Float64}
CHANGES = {
    "time_ns": pl.Int64,
    "node": pl.String,
    "what": pl.String,
    "about": pl.String,
    "became": pl.String,
}
WRONG = {"time_ns": pl.Int64, "node": pl.String, "routes": pl.UInt32}
FATES = {
    "begin_ns": pl.Int64,
    "end_ns": pl.Int64,
    "fate": pl.String,
    "destination": pl.String,
    "nodes": pl.String,
    "exact": pl.Boolean,
}
COMPARISONS = {
    "reference": pl.String,
    "clock": pl.String,
    "seq": pl.UInt32,
    "sent_ns": pl.Int64,
    "arrived_ns": pl.Int64,
    "left_ns": pl.Int64,
    "back_ns": pl.Int64,
}
WINDOWS = {
    "window": pl.UInt32,
    "machine": pl.String,
    "clock": pl.String,
    "lab": pl.String,
    "probe": pl.UInt32,
    "seq": pl.UInt32,
    "usual": pl.Boolean,
    "drawn": pl.Boolean,
    "start_ns": pl.Int64,
    "end_ns": pl.Int64,
}
CPUS = {
    "window": pl.UInt32,
    "time_ns": pl.Int64,
    "cpu": pl.UInt16,
    "did": pl.String,
    "how": pl.String,
    "task": pl.UInt32,
    "other": pl.UInt32,
    "number": pl.UInt32,
    "length_ns": pl.Int64,
    "softirqs": pl.UInt32,
    "interrupts": pl.UInt32,
}
TASKS = {
    "window": pl.UInt32,
    "task": pl.UInt32,
    "process": pl.UInt32,
    "program": pl.String,
    "known": pl.Boolean,
    "lab": pl.String,
    "part": pl.String,
    "agent": pl.Boolean,
}
RETRANSMISSIONS = {
    "window": pl.UInt32,
    "time_ns": pl.Int64,
    "first_ns": pl.Int64,
    "leg": pl.String,
    "needless": pl.Boolean,
    "part": pl.String,
}
DROPS = {
    "machine": pl.String,
    "clock": pl.String,
    "probe": pl.UInt32,
    "seq": pl.UInt32,
    "time_ns": pl.Int64,
    "cpu": pl.UInt16,
    "reason": pl.String,
    "interface": pl.String,
    "part": pl.String,
}
PASSAGES = {
    "clock": pl.String,
    "probe": pl.UInt32,
    "seq": pl.UInt32,
    "link": pl.String,
    "node": pl.String,
    "receives": pl.Boolean,
    "ended": pl.String,
    "came_ns": pl.Int64,
    "began_ns": pl.Int64,
    "left_ns": pl.Int64,
    "due_ns": pl.Int64,
    "ended_ns": pl.Int64,
    "queue_frames": pl.UInt32,
    "queue_bytes": pl.Int64,
    "most_from": pl.String,
    "most_bytes": pl.Int64,
}
TABLES: dict[str, Schema] = {
    "stamps": STAMPS,
    "probes": PROBES,
    "hosts": HOSTS,
    "progress": PROGRESS,
    "changes": CHANGES,
    "wrong": WRONG,
    "fates": FATES,
    "comparisons": COMPARISONS,
    "answers": ANSWERS,
    "windows": WINDOWS,
    "cpus": CPUS,
    "tasks": TASKS,
    "retransmissions": RETRANSMISSIONS,
    "drops": DROPS,
    "passages": PASSAGES,
}
ADDED: Mapping[str, Mapping[str, str | bool]] = {
    "hosts": {"machine": LOCAL_NAME},
    "windows": {"drawn": False},
}
"""Columns that tables of earlier versions lack, and the value that all their rows have."""
OF_ROUTERS = frozenset({"changes", "wrong", "fates"})
"""Tables of a trial whose lab has routing daemons."""
OF_CPUS = ("windows", "cpus", "tasks", "retransmissions", "drops")
OF_CAUSES = (*OF_CPUS, "passages")
"""Tables of a trial whose probe has `causes`."""
OPTIONAL = frozenset({"answers", "progress", "comparisons", *OF_CAUSES}) | OF_ROUTERS
"""Tables that a trial has only if there is something in them."""
OF_PROBE = frozenset({"stamps", "probes"})
"""Tables that a trial without a probe does not have."""
OF_ANSWERS = frozenset({"handshake_ns", "tls_ns", "whole_ns", "status"})
"""Columns that are null where an answer has no such thing."""
OF_TASKS = frozenset({"how", "program", "lab", "part"})
"""Columns that are null where nothing is known of a task, or a record has no such thing."""
OF_LOSSES = frozenset({"reason", "interface", "node", "most_from"})
"""Columns that are null where a kernel does not say why, or there is no such thing."""
NULLABLE = (
    frozenset({"sent_ns", "slip_ns", "end_ns", "first_ns"}) | OF_ANSWERS | OF_TASKS | OF_LOSSES
)
"""Columns that may be null: of a packet that was not sent, of what has not ended, of a SYN, of
answers, of tasks, of losses and queues."""
EPOCH = "since the Unix epoch"
MEANINGS: dict[str, dict[str, str]] = {
    "stamps": {
        "probe": "The number of the probe, which a packet carries.",
        "seq": "The packet's sequence number.",
        "leg": "The direction of the packet: `request` or `reply`.",
        "point": "The point where the packet was stamped, named as in the trial's `ways`.",
        "time_ns": f"The time of the stamp, {EPOCH}.",
        "clock": "The clock that the time was read from: that of the kernel at the point.",
    },
    "probes": {
        "probe": "The number of the probe, which a packet carries.",
        "seq": "The packet's sequence number.",
        "phase": "The phase of the trial: `untapped` (at rest, taps off) by turns with `before` "
        "(at rest, taps on), then `load`, then `again` (sent again by `clean`, under "
        "the same load), then `after` (at rest again).",
        "intended_ns": f"The time when the packet was due to be sent, {EPOCH}.",
        "sent_ns": f"The time when it was sent, {EPOCH}; null if it was not. For an HTTP request, "
        "when its connection was begun: its stamp at `sender.app` is later by what the "
        "connection took to open.",
        "slip_ns": "How late it was sent: `sent_ns` less `intended_ns`; null if it was not.",
        "outcome": "`replied`, `closed` (by a closed TCP port), `late` (replied too late), `lost`, "
        "`mismatched` (what answered it is no reply: it came from another address, or with other "
        "data), `refused` (by the sender's kernel), or `unsent`.",
        "duplicates": "The number of further replies to the same packet.",
        "reordered": "True if its reply came after the reply to a later packet (RFC 4737).",
    },
    "hosts": {
        "time_ns": f"The time of the sample, {EPOCH}; there are ten samples per second.",
        "machine": "The machine that was sampled, by its name in `study.json`; tables of earlier "
        "versions lack the column, and are of `local`.",
        "place": "The place that was sampled: `machine`, or a node, a host or another agent.",
        "metric": "The name of the metric (docs/protocol.md, table `hosts`).",
        "value": "The value of the metric.",
    },
    "progress": {
        "work": "The name of the work.",
        "node": "The node that did it.",
        "since_ns": "The time since the node began. That of `cpu` and `tcp` is by the node's own "
        "clock; that of a command is when its output arrived, by this machine's.",
        "done": "The amount done by then: units of arithmetic, bits that the sender's kernel took, "
        "or what the command printed.",
    },
    "changes": {
        "time_ns": f"The time of the change, {EPOCH}, by the clock of this machine's kernel.",
        "node": "The node whose table, link or adjacency changed.",
        "what": "`table` (a route of the kernel's main table), `link` (a device of the node), "
        "`adjacency` (a neighbour was found or given up, as the daemon printed), or `lost` (the "
        "kernel dropped messages about the node, whose tables were then read again).",
        "about": "The prefix of the route, the device, or the daemon; `-` for `lost`.",
        "became": "The next hops of the route, each `GATEWAY@DEVICE` or `@DEVICE`, joined by "
        "commas; `discarded`; `gone`. Of a device `up` or `down`; else `-`.",
    },
    "wrong": {
        "time_ns": f"The time of a change of the number, {EPOCH}.",
        "node": "The router.",
        "routes": "The number of its routes that were not those of the shortest paths from then "
        "on.",
    },
    "fates": {
        "begin_ns": f"When it began, {EPOCH}; 0 if it was there at the start.",
        "end_ns": f"When it ended, {EPOCH}; null if it did not.",
        "fate": "`black-hole` (packets end at a router) or `loop` (they can go around).",
        "destination": "The address that the packets are for.",
        "nodes": "The router of the black hole, or the routers of the loop, joined by commas.",
        "exact": "False if messages were lost, so that one of both times is that of the next "
        "reading.",
    },
    "comparisons": {
        "reference": "The clock of the machine that sent the probe.",
        "clock": "The clock of the machine that answered it.",
        "seq": "The probe's sequence number; 2n and 2n + 1 were sent as a pair.",
        "sent_ns": f"When the kernel sent it, by the reference, {EPOCH}.",
        "arrived_ns": f"When it reached the other kernel, by the clock, {EPOCH}.",
        "left_ns": f"When that kernel sent the answer, by the clock, {EPOCH}.",
        "back_ns": f"When the answer came back, by the reference, {EPOCH}.",
    },
    "answers": {
        "probe": "The number of the probe.",
        "seq": "The packet's sequence number: that of the request.",
        "handshake_ns": "How long it took to open the TCP connection for this request; null if it "
        "was open already, or there is none.",
        "tls_ns": "How long it then took to agree on TLS; null without.",
        "whole_ns": "The time from sending the request to the last byte of its answer, by the "
        "sender's program; null if the answer was not whole.",
        "status": "The status code of HTTP, or the response code of DNS; null without an answer.",
        "bytes": "The bytes of the answer's body so far as it came, or of its datagram.",
    },
    "windows": {
        "window": "The number of the window of time around one packet.",
        "machine": "The machine whose CPUs were recorded, by its name in `study.json`, or the node "
        "with a kernel of its own, such as `node.one`.",
        "clock": "The name of its clock, by which the times of the window and of its records are.",
        "lab": "The lab of the trial, as the table `tasks` names it among others.",
        "probe": "The number of the packet's probe.",
        "seq": "The packet's sequence number.",
        "usual": "True for a packet that says what is usual; the others are the slowest, near the "
        "median, p99 or p99.9 under load, or drawn.",
        "drawn": "True for a packet that was drawn at random from those answered under load, "
        "whatever else it is; tables of earlier versions lack the column, and no packet was drawn.",
        "start_ns": f"When the window begins, {EPOCH}.",
        "end_ns": f"When it ends, {EPOCH}.",
    },
    "cpus": {
        "window": "The window that the record is of.",
        "time_ns": f"The time of the record, {EPOCH}. The first of a CPU may be from before the "
        "window: the switch to the task that had the CPU when it began.",
        "cpu": "The CPU.",
        "did": "`switch` (it went to another task), `waking`, `softirq` and `interrupt` (long "
        "ones, at their end), `signal` (that stops, continues or ends a task), `stolen` (a "
        "hypervisor had taken time), or `reclaim` (a task had looked for memory, at its end).",
        "how": "Of a switch how the task before left: `runnable`, `asleep`, `blocked`, `stopped`, "
        "`ended` or `throttled`. Of a waking by what: `task`, `timer`, `interrupt`, `network` or "
        "`softirq`. Else null.",
        "task": "The task that has the CPU from now on, that was woken, or that gets the signal. "
        "Tasks are numbered as in the initial PID namespace; 0 is idle.",
        "other": "The task that had the CPU before, that ran at a waking, or that sent the signal.",
        "number": "The CPU's own count of switches; the number of a softirq, interrupt or signal.",
        "length_ns": "Of a switch the time for which `other` has run in its life, of softirqs, "
        "interrupts and reclaims what they took, of `stolen` all that was taken until now.",
        "softirqs": "The CPU's time in softirqs until now, in units of 64 ns, modulo 2^32.",
        "interrupts": "The same in interrupts.",
    },
    "tasks": {
        "window": "The window that names the task.",
        "task": "The task.",
        "process": "The process that it is a thread of.",
        "program": "The task's name; null if it is not known.",
        "known": "False if it ended before anybody could see what it was a part of.",
        "lab": "The lab that it runs in; null outside of labs.",
        "part": "The part of the lab, such as `node.one` or `link.here`; null outside of labs.",
        "agent": "True for an agent of delaylab.",
    },
    "retransmissions": {
        "window": "The window that it is in: that of the end of the packet's TCP connection that "
        "sent a segment again.",
        "time_ns": f"When it did, {EPOCH}.",
        "first_ns": "When the first of what the other end had not acknowledged was sent first, "
        f"{EPOCH}; null of a SYN.",
        "leg": "The end that sent it again: `request` is the sender of the packet, `reply` the "
        "service.",
        "needless": "True if the other end had the segment already, and its kernel was watched.",
        "part": "The part of the lab that sent it, such as `node.one`; null outside of labs.",
    },
    "drops": {
        "machine": "The machine whose kernel dropped the packet, or the node with one of its own.",
        "clock": "The name of its clock.",
        "probe": "The number of the packet's probe.",
        "seq": "The packet's sequence number; only packets that nobody answered are here.",
        "time_ns": f"When it was dropped, {EPOCH}.",
        "cpu": "The CPU that dropped it.",
        "reason": "The kernel's name for why (`skb_drop_reason`); null if it has none.",
        "interface": "The interface that the packet was at; null if it was at none.",
        "part": "The part of the lab that the interface is in; null outside of labs.",
    },
    "passages": {
        "clock": "The name of the clock of the machine whose link engine carried the packet.",
        "probe": "The number of the packet's probe.",
        "seq": "The packet's sequence number.",
        "link": "The link.",
        "node": "The node that sends on the link, or receives; null for what another host sends.",
        "receives": "True for the conditions of what the node receives.",
        "ended": "`sent`, or how the link lost the packet: `loss` (as configured), `queue` (full), "
        "`early` (by the queue's discipline), `down`, or `interface` (it did not take it).",
        "came_ns": f"When the packet came, {EPOCH}.",
        "began_ns": "When it began to leave: until then it waited in the link's queue.",
        "left_ns": "When all of it had left, as the link's rate has it.",
        "due_ns": "When the link's delay was over.",
        "ended_ns": "When it was sent, or dropped.",
        "queue_frames": "The frames that waited in the queue when it came.",
        "queue_bytes": "Their bytes.",
        "most_from": "The node or the address that most of these bytes were from; null without a "
        "queue.",
        "most_bytes": "How many that were.",
    },
}
"""Meaning of each column, as docs/dataset.md prints it."""
