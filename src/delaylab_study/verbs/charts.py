"""Verb `delaylab charts`: a dataset's drawings as files for a paper, as wide as its columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from delaylab.api.errors import BadInput, DelaylabError
from delaylab.api.files import check_own_folder, own_folder, write_new
from delaylab_study.analysis.analyse import Analysed
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.usable import usable
from delaylab_study.charts.fitted import HIGHEST_MM, PX_PER_MM, TooNarrow, height_mm, to_pdf
from delaylab_study.charts.vega import to_png
from delaylab_study.dataset.store import Study
from delaylab_study.papers.paper import Paper
from delaylab_study.report.sections.registry import PAGE
from delaylab_study.report.sections.section import Report
from delaylab_study.report.value import Drawing
from delaylab_study.verbs.datasets import analysis_of

Format = Literal["pdf", "svg", "png"]
FOLDER = "figures"
WIDTH = re.compile(r"([0-9]{1,4}(?:\.[0-9]{1,3})?) ?(mm|cm|in)")
IN_MM = {"mm": 1.0, "cm": 10.0, "in": 25.4}
LEAST_MM, MOST_MM = 20.0, 1000.0
DPI = 600
"""The resolution of a PNG, in dots per inch."""


@dataclass(frozen=True, slots=True)
class WrittenDrawing:
    """A drawing with the files that were written of it; `why` says why there are none."""

    name: str
    title: str
    files: list[Path]
    why: str = ""


def width_mm(text: str) -> float:
    """Return a width such as `85mm`, `8.5cm` or `3.3in` in mm; raise BadInput for anything else."""
    match = WIDTH.fullmatch(text.strip())
    found = float(match[1]) * IN_MM[match[2]] if match else 0.0
    if not LEAST_MM <= found <= MOST_MM:
        what = f"--width wants a width from {LEAST_MM:g} to {MOST_MM:g} mm, got {text!r}"
        raise BadInput(what, fix="for example 85mm, 8.5cm or 3.3in")
    return found


def draw(
    study: Study,
    paper: Paper | None,
    names: Sequence[str],
    formats: Sequence[Format],
    mm: float,
    out: Path | None,
    cells: Mapping[str, set[str]] | None = None,
) -> list[WrittenDrawing]:
    """Write the drawings of a dataset's report that are named, or all of them.

    `cells` are the levels that they show, by factor; of other factors all.

    They go to `out`, or into `figures` in the dataset's directory. A drawing whose letters would be
    too small is left out, with the width that it needs. Raise BadInput for an unknown name or a
    damaged dataset, DelaylabError if a file cannot be written.
    """
    folder = out or study.directory / FOLDER
    check_own_folder(folder)
    found = analysis_of(study)
    with usable(str(study.directory)):
        report = Report(found.study, _cells(found, cells or {}), paper)
        drawings = [each for section in PAGE for each in section(report).drawings]
        chosen = _chosen(drawings, names)
        fitted = [(each, *_fitted(each, mm)) for each in chosen]
    return [
        WrittenDrawing(each.name, each.title, _written(folder, each.name, svg, formats), why)
        for each, svg, why in fitted
    ]


def _cells(found: Analysed, cells: Mapping[str, set[str]]) -> list[Group]:
    """Return the groups with these levels; raise BadInput if there is no such level."""
    factors = found.study.record.factors
    for factor, levels in cells.items():
        if factor not in factors:
            raise BadInput(f"no factor {factor!r}", fix=f"factors: {', '.join(factors) or 'none'}")
        for level in sorted(levels - {*factors[factor]}):
            what = f"factor {factor!r} has no level {level!r}"
            raise BadInput(what, fix=f"one of: {', '.join(factors[factor])}")
    kept = [
        group
        for group in found.groups
        if all(group.factors[factor] in levels for factor, levels in cells.items())
    ]
    if not kept:
        raise BadInput("no trial has all these levels", fix="leave out a --cell")
    return kept


def _chosen(drawings: Sequence[Drawing], names: Sequence[str]) -> list[Drawing]:
    known = {each.name: each for each in drawings}
    for name in names:
        if name not in known:
            listed = ", ".join(known) or "the dataset has none"
            raise BadInput(f"no drawing {name!r}", fix=f"drawings: {listed}")
    return [known[name] for name in names] or [*known.values()]


def _fitted(drawing: Drawing, mm: float) -> tuple[str, str]:
    """Return a drawing as SVG, or "" with the reason why there is none."""
    try:
        svg = drawing.fitted(mm * PX_PER_MM)
    except TooNarrow as error:
        return "", f"{error} for letters of 7 pt"
    if (high := height_mm(svg)) > HIGHEST_MM:
        return "", f"{high:.0f} mm high, more than {HIGHEST_MM:.0f}: choose levels with --cell"
    return svg, ""


def _written(folder: Path, name: str, svg: str, formats: Sequence[Format]) -> list[Path]:
    files = []
    for ending in formats if svg else ():
        target = folder / f"{name}.{ending}"
        try:
            own_folder(folder)
            write_new(target, WRITERS[ending](svg))
        except OSError as error:
            raise DelaylabError(f"cannot be written: {error.strerror}", str(target)) from error
        files.append(target)
    return files


WRITERS: dict[Format, Callable[[str], bytes]] = {
    "pdf": to_pdf,
    "svg": str.encode,
    "png": lambda svg: to_png(svg, DPI / 96),
}
