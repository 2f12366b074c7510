"""Everything that a paper's folder needs, under one name: `from delaylab.papers.toolkit import …`.

docs/papers.md describes it.
"""

from delaylab.analysis.claims.claim import Claim, Criterion, Measured, NotTestable, Source
from delaylab.analysis.claims.groups import pick, samples
from delaylab.analysis.claims.imagined import Design, Random, lognormal
from delaylab.analysis.claims.imagined import group as imagined
from delaylab.analysis.claims.rule import (
    Rule,
    above,
    at_least,
    at_most,
    below,
    between,
    no_more_than,
)
from delaylab.analysis.group import Group
from delaylab.analysis.statistics.effects import estimate, shift
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
    "Criterion",
    "Design",
    "Floats",
    "Group",
    "Measured",
    "NotTestable",
    "Paper",
    "Part",
    "Random",
    "Rule",
    "Source",
    "Table",
    "above",
    "at_least",
    "at_most",
    "below",
    "between",
    "box_plot",
    "delay",
    "estimate",
    "filled",
    "five",
    "grid",
    "imagined",
    "lines",
    "lognormal",
    "no_more_than",
    "pick",
    "quantile",
    "render",
    "samples",
    "share",
    "shift",
]
