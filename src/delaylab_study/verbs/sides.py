"""Arguments of `delaylab compare`, read without the analysis, which is slow to import."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from delaylab.api.errors import BadInput
from delaylab_study.verbs.given import parse_only

EXAMPLE = "delaylab compare DIR kind=native kind=lxc"


@dataclass(frozen=True, slots=True)
class Sides:
    """Datasets to compare, or levels of one factor of one dataset.

    `factor` is empty if datasets are compared. `only` has the wanted levels of other factors.
    """

    folders: list[Path]
    factor: str = ""
    levels: list[str] = field(default_factory=list)
    only: dict[str, set[str]] = field(default_factory=dict)


def parse_sides(given: Sequence[str], only: Sequence[str]) -> Sides:
    """Read the arguments of `compare`: what has an `=` and is no folder is a level.

    Raise BadInput if they do not fit together.
    """
    folders: list[Path] = []
    levels: list[str] = []
    factors: dict[str, None] = {}
    for each in given:
        factor, equals, level = each.partition("=")
        if equals and not Path(each).is_dir():
            factors[factor] = None
            levels.append(level)
        else:
            folders.append(Path(each))
    if len(factors) > 1:
        what = f"levels of one factor are compared, not of {' and '.join(factors)}"
        raise BadInput(what, fix="choose the levels of other factors by --only FACTOR=LEVEL")
    if levels and len(folders) != 1:
        what = f"levels are compared within one dataset; {len(folders)} are given"
        raise BadInput(what, fix=EXAMPLE)
    if not levels and len(folders) < 2:
        what = "give two or more datasets, or one dataset and levels of one factor"
        raise BadInput(what, fix=EXAMPLE)
    if only and not levels:
        raise BadInput("--only goes with levels of one dataset", fix=EXAMPLE)
    return Sides(folders, next(iter(factors), ""), levels, parse_only(only))
