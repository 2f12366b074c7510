"""All sections of a report, in the order of each form."""

from __future__ import annotations

from delaylab.report.sections import (
    accounting,
    astray,
    claims,
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
    run,
    scaling,
    slowest,
    tables,
    way,
    work,
)
from delaylab.report.sections.section import InPage, InStudyJson, InTerminal, InTrialJson

TERMINAL: tuple[InTerminal, ...] = (
    *(
        head,
        way,
        convergence,
        levels,
        work,
        scaling,
        accounting,
        astray,
        outages,
        claims,
        links,
        slowest,
        machine,
        loads,
    ),
    *(cost, doubts),
)
PAGE: tuple[InPage, ...] = (
    *(head, way, convergence, levels, over_time, work, scaling, claims, figures, layers, tables),
    *(links, doubts, machine, loads, cost, clocks, accounting, astray, run),
)
STUDY_JSON: tuple[InStudyJson, ...] = (*(head, way, levels, work, scaling, cost, claims, doubts),)
TRIAL_JSON: tuple[InTrialJson, ...] = (
    *(
        doubts,
        accounting,
        astray,
        way,
        convergence,
        links,
        machine,
        clocks,
        slowest,
        outages,
        loads,
    ),
)
