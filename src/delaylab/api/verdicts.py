"""Verdicts on links, on convergence and on machines."""

from __future__ import annotations

from delaylab.verdicts.bias import LEAST_INTERVAL as BIAS_LEAST_INTERVAL
from delaylab.verdicts.bias import LOOK_S as BIAS_LOOK_S
from delaylab.verdicts.bias import PATIENCE as BIAS_PATIENCE
from delaylab.verdicts.bias import ROUND_S as BIAS_ROUND_S
from delaylab.verdicts.bias import RULE as BIAS_RULE
from delaylab.verdicts.bias import SAMPLES_S as BIAS_SAMPLES_S
from delaylab.verdicts.bias import (
    TRAFFIC_BPS,
    BiasReason,
    EvidenceByUse,
    MeasuredTime,
    clean_share,
    is_clean_now,
    traffic_of,
)
from delaylab.verdicts.downtimes import LinkDowntime
from delaylab.verdicts.effects import ChangesAfter, ChangeSpan
from delaylab.verdicts.lateness import Lateness
from delaylab.verdicts.links import MEDIAN_LATE_NS, MEDIAN_OF, P99_LATE_NS, P99_OF, RateCheck
from delaylab.verdicts.links import Verdict as LinkVerdict
from delaylab.verdicts.links import judge as judge_links
from delaylab.verdicts.meanwhile import STEAL as MACHINE_STEAL
from delaylab.verdicts.meanwhile import WAITING as MACHINE_WAITING
from delaylab.verdicts.meanwhile import Meanwhile
from delaylab.verdicts.outcome import MOST_WAITED, Outcome
from delaylab.verdicts.shares import ShareCheck
from delaylab.verdicts.states import RouterState, states_of

__all__ = [
    "BIAS_LEAST_INTERVAL",
    "BIAS_LOOK_S",
    "BIAS_PATIENCE",
    "BIAS_ROUND_S",
    "BIAS_RULE",
    "BIAS_SAMPLES_S",
    "MACHINE_STEAL",
    "MACHINE_WAITING",
    "MEDIAN_LATE_NS",
    "MEDIAN_OF",
    "MOST_WAITED",
    "P99_LATE_NS",
    "P99_OF",
    "TRAFFIC_BPS",
    "BiasReason",
    "ChangeSpan",
    "ChangesAfter",
    "EvidenceByUse",
    "Lateness",
    "LinkDowntime",
    "LinkVerdict",
    "Meanwhile",
    "MeasuredTime",
    "Outcome",
    "RateCheck",
    "RouterState",
    "ShareCheck",
    "clean_share",
    "is_clean_now",
    "judge_links",
    "states_of",
    "traffic_of",
]
