"""Round-trip times at the vantage points, and the paper's terms for what lies between them.

whiteaker2011, section 3.2: ΔKern = kernel RTT - wire RTT, ΔUser = user RTT - kernel RTT, and for
a node with a virtual interface Δhost = RTT at the virtual interface's host end - wire RTT (its
Δdom0) and Δnode = kernel RTT - RTT there (its ΔdomU). All of these are round trip. The sending
delay (user space to wire) and the receiving delay (wire to user space) are one way.
"""

from __future__ import annotations

import polars as pl

from delaylab.analysis.segments import column

# name in the tables -> point
VANTAGE = {
    "app": "sender.app",
    "stack": "sender.stack",
    "vif": "sender.vif",
    "uplink": "sender.uplink",
    "wire": "wire",
}
# name -> (from this vantage point's RTT, subtract that one's)
DELTAS = {
    "ΔKern": ("stack", "wire"),
    "Δhost": ("vif", "wire"),
    "Δnode": ("stack", "vif"),
    "ΔUser": ("app", "stack"),
    "total": ("app", "wire"),
}
ONE_WAY = ("sending", "receiving")


def round_trips(packets: pl.DataFrame) -> pl.DataFrame:
    """Return one row per packet: RTT at each vantage point, deltas and one-way delays, in ns.

    A column is null where one of its points did not see the packet.
    """
    table = packets.select(
        *(_difference(packets, name, ("reply", p), ("request", p)) for name, p in VANTAGE.items()),
        _difference(packets, "sending", ("request", "wire"), ("request", "sender.app")),
        _difference(packets, "receiving", ("reply", "sender.app"), ("reply", "wire")),
    )
    return table.with_columns(
        (pl.col(outer) - pl.col(inner)).alias(name) for name, (outer, inner) in DELTAS.items()
    )


def _difference(
    packets: pl.DataFrame, name: str, end: tuple[str, str], start: tuple[str, str]
) -> pl.Expr:
    last, first = column(*end), column(*start)
    if last not in packets.columns or first not in packets.columns:
        return pl.repeat(None, pl.len(), dtype=pl.Int64).alias(name)
    return (pl.col(last) - pl.col(first)).alias(name)
