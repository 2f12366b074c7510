"""Verb `export`, without logic."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from delaylab.api.command_line import HelpGroup, Json, app, console, print_json
from delaylab.api.errors import needed
from delaylab_study.cli.options import Paper


@app.command(rich_help_panel=HelpGroup.DATASETS)
def export(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="The directory of a dataset, which `run` prints.")
    ],
    table: Annotated[
        list[str] | None,
        typer.Option(
            "--table",
            help="Write this table only: packets, segments, work, trials, events_of_each, claims "
            "or scenarios; may be repeated.",
        ),
    ] = None,
    form: Annotated[
        Literal["parquet", "csv", "arrow"], typer.Option("--format", help="The files' format.")
    ] = "parquet",
    out: Annotated[
        Path | None, typer.Option(help="The folder for the files; else `export` in the dataset.")
    ] = None,
    package: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.zip",
            help="Write a replication package instead: the dataset with its study, machines and "
            "checks as an RO-Crate.",
        ),
    ] = None,
    author: Annotated[
        list[str] | None,
        typer.Option(help="Who measured, `Family, Given`, for --package; may be repeated."),
    ] = None,
    licence: Annotated[
        str, typer.Option(help="The licence of the data, such as CC-BY-4.0, for --package.")
    ] = "",
    pcap: Annotated[
        bool, typer.Option("--pcap", help="Put the captured packets into the package, too.")
    ] = False,
    paper: Paper = None,
    as_json: Json = False,
) -> None:
    """Write a dataset's tables for other programs, with a dictionary of their columns."""
    from delaylab_study.api.datasets import dataset_of
    from delaylab_study.dataset.intact import check_intact, read_intact
    from delaylab_study.verbs.given import given

    study = read_intact(directory)
    dataset = dataset_of(study, given(paper))
    if package is not None:
        with needed("`delaylab export --package`"):
            from delaylab_study.api import replication
        credit = replication.Credit(tuple(author or ()), licence)
        made = replication.package(dataset, package, credit, pcap=pcap)
        if as_json:
            print_json({"package": str(made)})
        else:
            console().print(str(made), soft_wrap=True)
        check_intact(study)
        return
    from delaylab_study.api import export as tables

    names = tables.names_of(table or [])
    written = tables.export(dataset, out or directory / "export", names, form)
    if as_json:
        print_json([{"table": e.table, "rows": e.rows, "file": str(e.path)} for e in written])
    else:
        for each in written:
            console().print(f"{each.table}  {each.rows} rows  {each.path}", soft_wrap=True)
    check_intact(study)
