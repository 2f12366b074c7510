"""Calls of a paper's own functions: an error in one names the paper, the function and its place."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from delaylab.api.errors import BadInput, DelaylabError
from delaylab.api.kinds import Mechanism
from delaylab_study.analysis.claims.claim import Claim, Criterion, Measured, NotTestable
from delaylab_study.analysis.claims.finding import Finding
from delaylab_study.analysis.claims.imagined import Design, Random
from delaylab_study.analysis.claims.judge import decide
from delaylab_study.analysis.claims.observed import Observed, observe
from delaylab_study.analysis.group import Group
from delaylab_study.charts.layer_table import Part
from delaylab_study.charts.tables import Table
from delaylab_study.charts.vega import Chart
from delaylab_study.papers.loading import one_line, place_in
from delaylab_study.papers.paper import Paper

FIX = "correct the paper, or take the trial out"
Made = TypeVar("Made")
OF_HARDWARE: tuple[Mechanism, ...] = ("speed",)
"""Mechanisms of a claim that names none, if the paper's virtual machines ran on hardware."""


def charts(paper: Paper, groups: list[Group]) -> list[Chart]:
    """Return a paper's charts; raise BadInput if its function fails."""
    return _listed(paper, paper.charts, groups, Chart)


def tables(paper: Paper, groups: list[Group]) -> list[Table]:
    """Return a paper's tables; raise BadInput if its function fails or a table is not whole."""
    found = _listed(paper, paper.tables, groups, Table)
    for table in found:
        for row in table.rows:
            if len(row) != len(table.head) or not all(map(_is_cell, row)):
                what = f"table {table.title!r} has a row that does not fit its head: {row!r}"
                raise _failed(paper, paper.tables, what)
    return found


def layer_table(paper: Paper, groups: list[Group]) -> list[Part]:
    """Return a paper's table of delays by layer; raise BadInput if its function fails."""
    return _listed(paper, paper.layer_table, groups, Part)


def world(paper: Paper, design: Design, random: Random) -> Group | None:
    """Return imagined trials of a design, from a paper's numbers; raise BadInput if that fails.

    Return None if the paper has no numbers for the design's levels: it looks them up and they are
    not there (KeyError).
    """
    drawn = paper.world
    if drawn is None:
        return None

    def numbers() -> Group | None:
        try:
            return drawn(design, random)
        except KeyError:
            return None

    found = _called(paper, drawn, numbers)
    if found is not None and not isinstance(found, Group):
        raise _failed(paper, drawn, f"it returned {type(found).__name__}, not a group")
    return found


def finding(paper: Paper, claim: Claim, groups: list[Group]) -> Finding:
    """Return the verdict on a paper's claim; raise BadInput if one of its measures fails."""
    return decided(paper, claim, observed(paper, claim, groups))


def observed(paper: Paper, claim: Claim, groups: list[Group]) -> Observed:
    """Return what trials say of a paper's claim; raise BadInput if one of its measures fails."""
    criteria = [replace(each, measure=_measure(paper, each)) for each in claim.criteria]
    return observe(replace(claim, criteria=criteria), groups)


def decided(paper: Paper, claim: Claim, seen: Observed, out_of_reach: str = "") -> Finding:
    """Return the verdict on a paper's claim from what was observed.

    `out_of_reach` is the reason why a study cannot test the claim, "" if it can.
    """
    about = claim.about or (OF_HARDWARE if paper.on_hardware else ())
    return replace(decide(replace(claim, about=about), seen, out_of_reach), claimed_by=paper.name)


def _measure(paper: Paper, criterion: Criterion) -> Callable[[list[Group]], list[Measured]]:
    """Return a criterion's measure, whose errors name it."""
    measure = criterion.measure

    def measured(groups: list[Group]) -> list[Measured]:
        found = _called(paper, measure, lambda: list(measure(groups)))
        if not all(isinstance(each, Measured) for each in found):
            raise _failed(paper, measure, "it yielded something else than Measured")
        return found

    return measured


def _listed(
    paper: Paper,
    function: Callable[[list[Group]], list[Made]],
    groups: list[Group],
    kind: type[Made],
) -> list[Made]:
    found = _called(paper, function, lambda: function(groups))
    if not isinstance(found, list) or not all(isinstance(each, kind) for each in found):
        what = f"it returned {type(found).__name__}, not a list of {kind.__name__}"
        raise _failed(paper, function, what)
    return found


def _called(paper: Paper, function: Callable[..., object], call: Callable[[], Made]) -> Made:
    try:
        return call()
    except (DelaylabError, NotTestable):
        raise
    except Exception as error:
        raise _failed(paper, function, one_line(error), error) from error


def _failed(
    paper: Paper, function: Callable[..., object], what: str, error: Exception | None = None
) -> BadInput:
    name = getattr(function, "__qualname__", repr(function))
    place = place_in(error, folder) if error and (folder := _folder(function)) else ""
    return BadInput(f"paper {paper.name}: {name}() failed: {what}", place, FIX)


def _folder(function: Callable[..., object]) -> Path | None:
    file = getattr(sys.modules.get(function.__module__), "__file__", None)
    return Path(file).parent if file else None


def _is_cell(cell: object) -> bool:
    pair = cell if isinstance(cell, tuple) and len(cell) == 2 else (cell,)
    return all(isinstance(each, str) for each in pair)
