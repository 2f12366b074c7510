"""All sections of a report, in the order of each form."""

from __future__ import annotations

from collections.abc import Callable

from delaylab.api.files import JsonObject
from delaylab_study.analysis.group import Group
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.report.sections import (
    accounting,
    astray,
    biased,
    causes,
    claims,
    clean,
    clocks,
    convergence,
    cost,
    doubts,
    figures,
    head,
    layers,
    levels,
    links,
    loads,
    machine,
    outages,
    over_time,
    pooling,
    run,
    scaling,
    slowest,
    tables,
    way,
    work,
)
from delaylab_study.report.sections.section import Report
from delaylab_study.report.value import Section

Sections = tuple[Callable[[Report], Section], ...]

# What a paper's own tables have is what its reader looks for.
_FIRST: Sections = (head.section, tables.section, way.section)
_THEN: Sections = (convergence.section, levels.section, pooling.section)
_WORK: Sections = (work.section, scaling.section)
TERMINAL: Sections = (
    *_FIRST,
    *_THEN,
    *_WORK,
    clean.section,
    *(accounting.section, astray.section, outages.section, claims.section, links.section),
    *(
        causes.section,
        biased.section,
        slowest.section,
        machine.section,
        loads.section,
        cost.section,
    ),
    doubts.section,
)
PAGE: Sections = (
    *_FIRST,
    *(causes.section, biased.section),
    *_THEN,
    over_time.section,
    *_WORK,
    clean.section,
    *(claims.section, figures.section, layers.section, links.section),
    *(doubts.section, machine.section, loads.section, cost.section, clocks.section),
    *(accounting.section, astray.section, run.section),
)
TABLES: dict[str, Callable[[Report], Section]] = {
    "paper": tables.section,
    **dict.fromkeys(("delays", "rtt"), way.section),
    "events": convergence.section,
    "levels": levels.section,
    "pooling": pooling.section,
    "causes": causes.section,
    "biased": biased.section,
    **dict.fromkeys(("nodes", "messages", "figures"), work.section),
    "scaling": scaling.section,
    **dict.fromkeys(("claims", "scenarios"), claims.section),
    "layers": layers.section,
    "links": links.section,
    **dict.fromkeys(("slowest", "slowest_of_each"), slowest.section),
    "machine": machine.section,
    "loads": loads.section,
    "clean": clean.section,
    "instrument": cost.section,
    "clocks": clocks.section,
    **dict.fromkeys(("account", "points", "phases"), accounting.section),
    "run": run.section,
}
"""Tables for scripts by their keys, each with the section that has it."""
STUDY_JSON: tuple[Callable[[Report], JsonObject], ...] = (
    *(head.study_json, way.study_json, levels.study_json, work.study_json, scaling.study_json),
    *(cost.study_json, claims.study_json, doubts.study_json, pooling.study_json),
    causes.study_json,
)
TRIAL_JSON: tuple[Callable[[TrialRecord, Group | None], JsonObject], ...] = (
    *(doubts.trial_json, accounting.trial_json, astray.trial_json, way.trial_json),
    *(convergence.trial_json, links.trial_json, machine.trial_json, clocks.trial_json),
    *(slowest.trial_json, outages.trial_json, loads.trial_json),
)
"""`None` for the group of a trial that failed."""
