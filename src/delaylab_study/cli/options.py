"""Options that several verbs of studies have."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

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
TLS_CA = typer.Option("--tls-ca-file", metavar="FILE", help="The authority's certificate, PEM.")
TLS_CERT = typer.Option("--tls-cert", metavar="FILE", help="This end's certificate, PEM.")
TLS_KEY = typer.Option("--tls-key", metavar="FILE", help="The key of that certificate, PEM.")


class CsvTable(StrEnum):
    """The tables that `show --csv` prints: five of the data, then those of the report."""

    PACKETS = "packets"
    SEGMENTS = "segments"
    WORK = "work"
    TRIALS = "trials"
    EVENTS_OF_EACH = "events_of_each"
    PAPER = "paper"
    DELAYS = "delays"
    RTT = "rtt"
    EVENTS = "events"
    LEVELS = "levels"
    POOLING = "pooling"
    CAUSES = "causes"
    BIASED = "biased"
    NODES = "nodes"
    MESSAGES = "messages"
    FIGURES = "figures"
    SCALING = "scaling"
    CLAIMS = "claims"
    SCENARIOS = "scenarios"
    LAYERS = "layers"
    LINKS = "links"
    SLOWEST = "slowest"
    SLOWEST_OF_EACH = "slowest_of_each"
    MACHINE = "machine"
    LOADS = "loads"
    CLEAN = "clean"
    INSTRUMENT = "instrument"
    CLOCKS = "clocks"
    ACCOUNT = "account"
    POINTS = "points"
    PHASES = "phases"
    RUN = "run"


OF_DATA: dict[CsvTable, Literal["packets", "segments", "work", "trials", "events_of_each"]] = {
    CsvTable.PACKETS: "packets",
    CsvTable.SEGMENTS: "segments",
    CsvTable.WORK: "work",
    CsvTable.TRIALS: "trials",
    CsvTable.EVENTS_OF_EACH: "events_of_each",
}
"""Tables of the data, as the API names them; all others are of the report."""
