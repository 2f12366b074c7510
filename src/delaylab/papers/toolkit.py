"""Everything that a paper's folder needs, under one name: `from delaylab.papers.toolkit import …`.

docs/papers.md describes it.
"""

from delaylab.analysis.claims.claim import Claim, NotTestable, Result, samples, within
from delaylab.analysis.claims.groups import pick
from delaylab.analysis.group import Group
from delaylab.analysis.statistics.compare import compare
from delaylab.analysis.statistics.effects import estimate
from delaylab.analysis.statistics.quantiles import Floats
from delaylab.charts.boxes import WHISKERS_SAID, box_plot, filled, five, grid, lines
from delaylab.charts.layer_table import Cell, Part
from delaylab.charts.tables import Table
from delaylab.charts.vega import Chart, render
from delaylab.charts.words import delay, quantile, share
from delaylab.papers.paper import Paper

__all__ = [
    "WHISKERS_SAID",
    "Cell",
    "Chart",
    "Claim",
    "Floats",
    "Group",
    "NotTestable",
    "Paper",
    "Part",
    "Result",
    "Table",
    "box_plot",
    "compare",
    "delay",
    "estimate",
    "filled",
    "five",
    "grid",
    "lines",
    "pick",
    "quantile",
    "render",
    "samples",
    "share",
    "within",
]
