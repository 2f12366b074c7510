"""Everything that a paper's folder needs, under one name: `from delaylab.papers.toolkit import …`.

docs/papers.md describes it.
"""

from delaylab.analysis.claims.claim import ENOUGH, Claim, Criterion, Measured, NotTestable, Source
from delaylab.analysis.claims.groups import (
    EACH_ENOUGH,
    by_repeat,
    label,
    matched,
    need_cpus,
    number,
    pick,
    printed,
    runs,
    samples,
    scenario,
    setups,
)
from delaylab.analysis.claims.imagined import Design, Levels, Random, lognormal
from delaylab.analysis.claims.imagined import command as imagined_command
from delaylab.analysis.claims.imagined import group as imagined
from delaylab.analysis.claims.imagined import group_of_work as imagined_work
from delaylab.analysis.claims.imagined import record as imagined_trial
from delaylab.analysis.claims.imagined import record_of_events as imagined_events_trial
from delaylab.analysis.claims.rule import (
    Rule,
    above,
    at_least,
    at_most,
    below,
    between,
    no_more_than,
)
from delaylab.analysis.claims.words import amount, in_words, median_in_words
from delaylab.analysis.convergence.recorded import SeenEvent, SeenTrial, changes_of_tables
from delaylab.analysis.domains import domain_shares
from delaylab.analysis.fairness import jain
from delaylab.analysis.group import Group
from delaylab.analysis.links.delays import Error as LinkError
from delaylab.analysis.over_time.usage import IN_USE
from delaylab.analysis.packets.outliers import outlier_shares, robust_scale
from delaylab.analysis.statistics.effects import (
    SHARE,
    UNKNOWN,
    Effect,
    estimate,
    estimate_of_few,
    mean_of_few,
    of_medians,
    paired,
    shift,
)
from delaylab.analysis.statistics.effects import share as share_of
from delaylab.analysis.statistics.factors import associations_in, tau
from delaylab.analysis.statistics.influence import Statistic
from delaylab.analysis.statistics.quantiles import last_axis_quantiles
from delaylab.analysis.statistics.runs import Floats, Run, thinned, whole
from delaylab.analysis.statistics.student import half_width
from delaylab.analysis.statistics.wilson import wilson
from delaylab.analysis.work import Work
from delaylab.charts.boxes import (
    COLOURS,
    WHISKERS_SAID,
    box_plot,
    coloured,
    delay_y,
    filled,
    five,
    grid,
    lines,
)
from delaylab.charts.delays import all_charts as delay_charts
from delaylab.charts.held_rates import table as held_rates
from delaylab.charts.layer_table import Cell, Part, Published
from delaylab.charts.layer_table import layers as layer_table
from delaylab.charts.lazy import alt
from delaylab.charts.tables import Cells, Table
from delaylab.charts.vega import Chart, Rows, inline, render
from delaylab.charts.words import delay, quantile, rate, seconds, share, times
from delaylab.dataset.records.events import EventRecord, Happening
from delaylab.dataset.records.rates import Burst, Flow, HeldRate
from delaylab.dataset.records.trial import Load, TrialRecord
from delaylab.dataset.records.work import DomainTime, Figure, Latency, WorkDone
from delaylab.papers.paper import Paper, World
from delaylab.records.links import EngineReport
from delaylab.spec.kinds import is_virtual_machine

__all__ = [
    "COLOURS",
    "EACH_ENOUGH",
    "ENOUGH",
    "IN_USE",
    "SHARE",
    "UNKNOWN",
    "WHISKERS_SAID",
    "Burst",
    "Cell",
    "Cells",
    "Chart",
    "Claim",
    "Criterion",
    "Design",
    "DomainTime",
    "Effect",
    "EngineReport",
    "EventRecord",
    "Figure",
    "Floats",
    "Flow",
    "Group",
    "Happening",
    "HeldRate",
    "Latency",
    "Levels",
    "LinkError",
    "Load",
    "Measured",
    "NotTestable",
    "Paper",
    "Part",
    "Published",
    "Random",
    "Rows",
    "Rule",
    "Run",
    "SeenEvent",
    "SeenTrial",
    "Source",
    "Statistic",
    "Table",
    "TrialRecord",
    "Work",
    "WorkDone",
    "World",
    "above",
    "alt",
    "amount",
    "associations_in",
    "at_least",
    "at_most",
    "below",
    "between",
    "box_plot",
    "by_repeat",
    "changes_of_tables",
    "coloured",
    "delay",
    "delay_charts",
    "delay_y",
    "domain_shares",
    "estimate",
    "estimate_of_few",
    "filled",
    "five",
    "grid",
    "half_width",
    "held_rates",
    "imagined",
    "imagined_command",
    "imagined_events_trial",
    "imagined_trial",
    "imagined_work",
    "in_words",
    "inline",
    "is_virtual_machine",
    "jain",
    "label",
    "last_axis_quantiles",
    "layer_table",
    "lines",
    "lognormal",
    "matched",
    "mean_of_few",
    "median_in_words",
    "need_cpus",
    "no_more_than",
    "number",
    "of_medians",
    "outlier_shares",
    "paired",
    "pick",
    "printed",
    "quantile",
    "rate",
    "render",
    "robust_scale",
    "runs",
    "samples",
    "scenario",
    "seconds",
    "setups",
    "share",
    "share_of",
    "shift",
    "tau",
    "thinned",
    "times",
    "whole",
    "wilson",
]
