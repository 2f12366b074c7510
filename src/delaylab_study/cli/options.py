"""Options that several verbs of studies have."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

Scale = Annotated[
    str,
    typer.Option(help="The size of the study: `quick`, or one that it defines, such as `paper`."),
]
Paper = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER|NAME",
        help="The paper that the study repeats: its folder, whose `paper.py` is then run, or the "
        "name of an installed paper.",
    ),
]
Claims = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A file with `claims:`, which are judged on this dataset, too, and marked as chosen "
        "after the data.",
    ),
]
Only = Annotated[
    list[str] | None,
    typer.Option(metavar="FACTOR=LEVEL", help="Run only this level; may be repeated."),
]


class CsvTable(StrEnum):
    """The tables that `show --csv` prints."""

    PACKETS = "packets"
    SEGMENTS = "segments"
    WORK = "work"
    TRIALS = "trials"
