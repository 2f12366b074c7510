"""Everything that a paper's folder needs, under one name (docs/papers.md)."""

from delaylab.api.kinds import is_virtual_machine
from delaylab.api.records import EngineReport
from delaylab_study.analysis.claims.claim import (
    ENOUGH,
    Claim,
    Criterion,
    Measure,
    Measured,
    NotTestable,
    Source,
)
from delaylab_study.analysis.claims.groups import (
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
from delaylab_study.analysis.claims.imagined import Design, Levels, Random, lognormal
from delaylab_study.analysis.claims.imagined import command as imagined_command
from delaylab_study.analysis.claims.imagined import group as imagined
from delaylab_study.analysis.claims.imagined import group_of_work as imagined_work
from delaylab_study.analysis.claims.imagined import record as imagined_trial
from delaylab_study.analysis.claims.imagined import record_of_events as imagined_events_trial
from delaylab_study.analysis.claims.rule import (
    Rule,
    above,
    at_least,
    at_most,
    below,
    between,
    no_more_than,
)
from delaylab_study.analysis.claims.words import amount, in_words, median_in_words
from delaylab_study.analysis.convergence.recorded import SeenEvent, SeenTrial, changes_of_tables
from delaylab_study.analysis.domains import domain_shares
from delaylab_study.analysis.fairness import jain
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.links.delays import LinkError
from delaylab_study.analysis.over_time.usage import IN_USE
from delaylab_study.analysis.packets.outliers import outlier_shares, robust_scale
from delaylab_study.analysis.statistics.effects import (
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
from delaylab_study.analysis.statistics.effects import share as share_of
from delaylab_study.analysis.statistics.factors import associations_in, tau
from delaylab_study.analysis.statistics.influence import Statistic
from delaylab_study.analysis.statistics.quantiles import last_axis_quantiles
from delaylab_study.analysis.statistics.runs import Floats, Run, thinned, whole
from delaylab_study.analysis.statistics.student import half_width
from delaylab_study.analysis.statistics.wilson import wilson
from delaylab_study.analysis.work import Work
from delaylab_study.charts.boxes import (
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
from delaylab_study.charts.delays import all_charts as delay_charts
from delaylab_study.charts.held_rates import table as held_rates
from delaylab_study.charts.layer_table import DelayCell as Cell
from delaylab_study.charts.layer_table import Part, Published
from delaylab_study.charts.layer_table import layers as layer_table
from delaylab_study.charts.lazy import alt
from delaylab_study.charts.tables import Cells, Table
from delaylab_study.charts.vega import Chart, Rows, inline, render
from delaylab_study.charts.words import delay, quantile, rate, seconds, share, times
from delaylab_study.dataset.records.events import EventRecord, Happening
from delaylab_study.dataset.records.rates import Burst, Flow, HeldRate
from delaylab_study.dataset.records.trial import Load, TrialRecord
from delaylab_study.dataset.records.work import DomainTime, Figure, Latency, WorkDone
from delaylab_study.papers.paper import Paper, World

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
    "Measure",
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
