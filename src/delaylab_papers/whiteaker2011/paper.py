"""The paper whiteaker2011: its claims, its published numbers and its table 1.

Its charts are those of any study: this project uses the paper's terms.
"""

from delaylab_study.papers.toolkit import Chart, Group, Paper, delay_charts

from .claims import CLAIMS
from .published import AT_REST, UNDER_NETWORK
from .table1 import table1
from .world import as_published

FIGURES = {
    "rtt-under-network-load": "figure 3 of whiteaker2011",
    "rtt-per-load": "figure 4 of whiteaker2011, which is of Xen",
    "sending-and-receiving": "figure 5 of whiteaker2011",
}


def charts(groups: list[Group]) -> list[Chart]:
    """Return the charts of a study's delays, each with the figure that it is drawn after."""
    return delay_charts(groups, FIGURES)


PAPER = Paper(
    "whiteaker2011",
    tuple(CLAIMS.values()),
    charts,
    layer_table=table1,
    layer_note="Table 1 of whiteaker2011 (1.8 GHz Pentium 4, 100 Mbit/s, Linux 2.6.26)",
    on_hardware=True,
    world=as_published,
    authors="J. Whiteaker, F. Schneider and R. Teixeira",
    title="Explaining Packet Delays under Virtualization",
    year=2011,
    contradictions=(AT_REST, UNDER_NETWORK),
)
