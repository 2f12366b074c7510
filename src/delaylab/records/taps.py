"""Record of what a tap captured at one point."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from delaylab.records.base import Count, Record, Text


class TapRecord(Record):
    """Packets captured and dropped at one point, and the method of capture.

    `unparsed` counts packets that are corrupted or fragments, `repeated` those seen twice.
    `by` is `tcx` for programs at the interface's traffic control hooks, `ring` for a packet
    socket's ring, `socket` for programs at the service's sockets. Records without it come from
    versions that captured by rings only.
    """

    point: Text = Field(description="The point that the tap stamps.")
    packets: Count = Field(description="The number of packets captured.")
    dropped: Count = Field(description="The number of packets that found the tap's buffer full.")
    unparsed: Count = Field(0, description="The number of packets that are corrupted or fragments.")
    repeated: Count = Field(0, description="The number of packets that were seen before.")
    unkept: Count = Field(
        0, description="The number of them that are not in the recording: there were too many."
    )
    unsent: Count = Field(
        0,
        description="The number of packets with the probe's number and a sequence number that the "
        "probe does not use: another node sent them. They have no stamp.",
    )
    by: Literal["tcx", "ring", "socket"] = Field(
        "ring",
        description="The method of capture: BPF programs at the interface's traffic control "
        "hooks, a packet socket's ring, or BPF programs at the service's sockets.",
    )
    queue: Text = Field(
        "",
        description="The kind of the interface's outermost queue when the tap started, such as "
        "`noqueue` or `tbf`; empty in records of versions that did not look.",
    )
    queue_after: Text = Field("", description="Its kind at the end of the trial.")
    queue_changed: bool = Field(
        False,
        description="True if the interface's queues or their settings were others at the end.",
    )
