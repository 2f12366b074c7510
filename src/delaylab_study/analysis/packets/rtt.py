"""Round-trip times at the vantage points, and the differences between them.

ΔKern = kernel RTT - wire RTT, and ΔUser = user RTT - kernel RTT. If the node has a virtual
interface, Δhost = RTT at the interface's end on the host - wire RTT, and Δnode = kernel RTT - RTT
there. A Xen domain has a driver domain in between: Δdom0 = RTT in it - wire RTT, and ΔdomU = kernel
RTT - RTT in it. The overhead is user RTT - RTT at the sender's host interface. All of these are
round trips. The sending delay (user space to wire) and the receiving delay (wire to user space) are
one way.

If the sender's link has conditions, its engine stands between the virtual interface and the uplink,
and delays requests there as configured. That time is Δlink. It is no layer of the host: Δhost
and Δdom0 are without it, and so is what the sender's side adds (`WITHOUT_LINK`).
"""

from __future__ import annotations

import polars as pl

from delaylab.api.points import AT_SERVICE, LEGS
from delaylab_study.analysis.clocks.stations import Station
from delaylab_study.analysis.packets.table import Packets, constant

USER = "app"
"""Name of the RTT as programs see it."""
# name in the tables -> point; an RTT at one of the responder's points is the time that its side
# took from there on and back
VANTAGE = {
    USER: "sender.app",
    "stack": "sender.stack",
    "dom0": "sender.dom0",
    "vif": "sender.vif",
    "uplink": "sender.uplink",
    "wire": "wire",
    "far uplink": "responder.uplink",
    "far vif": "responder.vif",
    "far stack": "responder.stack",
    "service": AT_SERVICE,
}
# name -> (vantage point of the RTT, vantage point of the RTT that is subtracted)
DELTAS = {
    "ΔKern": ("stack", "wire"),
    "Δhost": ("vif", "wire"),
    "Δnode": ("stack", "vif"),
    "Δdom0": ("dom0", "wire"),
    "ΔdomU": ("stack", "dom0"),
    "ΔUser": ("app", "stack"),
    "total": ("app", "wire"),
    "overhead": ("app", "uplink"),
}
# name -> (station at the start, station at the end)
ONE_WAY = {
    "sending": (Station("request", "sender.app"), Station("request", "wire")),
    "receiving": (Station("reply", "wire"), Station("reply", "sender.app")),
}


LINK, WITHOUT_LINK = "Δlink", "total − Δlink"
"""Names of the time of a request in the sender's link, if that has conditions, and of the rest."""
WITHOUT_LINKS = "without links"
"""Name of the user RTT less the time in links with conditions, on all of the way."""
_IN_LINK = Station("request", "sender.vif"), Station("request", "sender.uplink")
_OVER_LINK = ("Δhost", "Δdom0")


def round_trips(packets: Packets, *, emulated_link: bool = False) -> pl.DataFrame:
    """Return one row per packet: RTT at each vantage point, deltas and one-way delays, in ns.

    A column is null where one of its points did not see the packet. A round trip is read on the
    clock of its point alone: it is exact even where clocks could not be aligned. With
    `emulated_link` the sender's link has conditions, and there are columns `LINK` and
    `WITHOUT_LINK`.
    """
    stamped = packets.as_stamped
    ends = {name: (Station("request", p), Station("reply", p)) for name, p in VANTAGE.items()}
    table = pl.DataFrame(
        [
            *(_difference(stamped, name, *pair) for name, pair in ends.items()),
            *(_difference(packets, name, *pair) for name, pair in ONE_WAY.items()),
        ]
    )
    table = table.with_columns(
        (pl.col(outer) - pl.col(inner)).alias(name) for name, (outer, inner) in DELTAS.items()
    )
    if not emulated_link:
        return table
    table = table.with_columns(_difference(stamped, LINK, *_IN_LINK))
    rest = (pl.col("total") - pl.col(LINK)).alias(WITHOUT_LINK)
    return table.with_columns(*(pl.col(name) - pl.col(LINK) for name in _OVER_LINK), rest)


def user_rtts(packets: Packets) -> pl.Series:
    """Return the round trip as programs see it in ns, null where it is not known."""
    ends = (Station(leg, VANTAGE[USER]) for leg in LEGS)
    return _difference(packets.as_stamped, USER, *ends)


def small(columns: list[pl.Series]) -> pl.DataFrame:
    """Return columns of delays as a table that takes less memory; the list is empty then.

    A column has 32 bits where all delays fit (2.1 s), and takes nothing if it has none. One is made
    after the other, so that all are never there twice.
    """
    found = []
    columns.reverse()
    while columns:
        found.append(_narrowed(columns.pop()))
    return pl.DataFrame(found)


def _narrowed(column: pl.Series) -> pl.Series:
    if column.null_count() == len(column):
        return column.cast(pl.Null)
    most = 2**31 - 1
    fits = column.dtype == pl.Int64 and column.is_between(-most, most).all()
    return (column.cast(pl.Int32) if fits else column).rechunk()


def one_way_bounds(packets: Packets) -> dict[str, float]:
    """Return the largest errors of the one-way delays in ns; 0 if one clock stamped both ends."""
    known = {name: pair for name, pair in ONE_WAY.items() if {*pair} <= packets.stations.keys()}
    return {name: packets.bound_between(*pair) for name, pair in known.items()}


def _difference(packets: Packets, name: str, first: Station, last: Station) -> pl.Series:
    found = packets.between(first, last)
    return (constant(None, len(packets)) if found is None else found).alias(name)
