"""Verbs that measure: one function per verb, without logic."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from delaylab.api.command_line import (
    INTERRUPTED,
    HelpGroup,
    Json,
    app,
    console,
    print_error,
    print_found,
    print_json,
)
from delaylab.api.errors import BadInput
from delaylab_study.cli.options import (
    OF_DATA,
    TLS_CA,
    TLS_CERT,
    TLS_KEY,
    Claims,
    CsvTable,
    Only,
    Paper,
    Scale,
)

if TYPE_CHECKING:
    from delaylab_study.dataset.store import Study


@app.command(rich_help_panel=HelpGroup.MEASUREMENTS)
def run(
    study: Annotated[
        str | None,
        typer.Argument(
            metavar="STUDY|FILE|FOLDER",
            help="The name of a shipped study, a study file, or a paper's folder.",
        ),
    ] = None,
    scale: Scale = "quick",
    only: Only = None,
    paper: Paper = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The directory for the dataset; else a new one in `results/`."),
    ] = None,
    resume: Annotated[Path | None, typer.Option(help="Continue the study of this dataset.")] = None,
    like: Annotated[
        Path | None,
        typer.Option(
            help="Run the study of this dataset again, here: the same file, levels, repeats and "
            "seed, into a new dataset."
        ),
    ] = None,
    repeat: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="The number of trials of each combination, instead of the study's. With --resume "
            "the dataset gets more of them.",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="List the trials, how long they take, and what to expect; run nothing.",
        ),
    ] = False,
    list_studies: Annotated[
        bool, typer.Option("--list", help="List the studies that have a name; run nothing.")
    ] = False,
    pcap: Annotated[
        bool, typer.Option("--pcap", help="Keep the probe's packets as pcapng, for Wireshark.")
    ] = False,
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--on",
            metavar="SCHEDULER",
            help="Run the trials on machines that `delaylab worker` offers to this dask scheduler.",
        ),
    ] = None,
    machines: Annotated[
        str | None,
        typer.Option(
            metavar="SSH,…",
            help="Run the trials on these machines: names of the lab's, or as ssh takes them.",
        ),
    ] = None,
    tls_ca: Annotated[Path | None, TLS_CA] = None,
    tls_cert: Annotated[Path | None, TLS_CERT] = None,
    tls_key: Annotated[Path | None, TLS_KEY] = None,
    as_json: Json = False,
) -> None:
    """Run a study: start labs, loads and probes, then print its table and write its report."""
    if list_studies:
        _list_studies(as_json=as_json)
        return
    if dry_run:
        # It makes thousands of small tables, for which threads of Polars would wait for each other.
        os.environ.setdefault("POLARS_MAX_THREADS", "1")
    from delaylab_study.verbs.given import given, parse_only
    from delaylab_study.verbs.study_file import check_choice, load

    levels = parse_only(only or [])
    changed = bool(only) or scale != "quick"
    anew = bool(out) or dry_run
    check_choice(study, resume, like, anew=anew, changed=changed, repeat=bool(repeat))
    loaded = load(study, paper) if study is not None else None
    repeated = loaded.paper if loaded else given(paper)
    from delaylab.api.terminal import bar
    from delaylab_study.dataset.store import read_study, resume_command
    from delaylab_study.verbs import studies, study_plans
    from delaylab_study.verbs.campaigns import Cluster, where_of

    planned = studies.planned_study(loaded.study, scale, levels, repeat) if loaded else None
    if like is not None:
        planned = studies.planned_study_like(like)
    if dry_run and planned:
        with bar(console(stderr=True)) as progress:
            expected = study_plans.dry_run(planned, repeated, progress)
        print_found(expected, study_plans.as_json, study_plans.print_expected, as_json=as_json)
        return
    cluster = Cluster(scheduler, tls_ca, tls_cert, tls_key) if scheduler else None
    where = where_of(cluster, machines, planned.study if planned else resume)
    was_begun = out is not None and (out / "study.json").exists()
    folder = studies.begin(planned, out, where) if planned else resume or Path()
    if resume is not None or was_begun:
        _prepare_to_resume(folder, repeat if resume is not None else None)
    try:
        outcomes = studies.run(folder, console(stderr=True), pcap=pcap, where=where)
        shown_on = console(stderr=True) if as_json else console()
        report, numbers = studies.finish(folder, shown_on, repeated, numbers=as_json)
        _write_packets(read_study(folder))
    except KeyboardInterrupt:
        own = loaded.paper_text if loaded else paper
        again = resume_command(folder, own, pcap=pcap)
        print_error(f"delaylab: interrupted; finished trials are kept, go on with: {again}")
        raise typer.Exit(INTERRUPTED) from None
    if as_json:
        print_json({**numbers, "directory": str(folder), "report": str(report)})
    else:
        console().print(f"\ndataset  {folder}\nreport   {report}", soft_wrap=True)
    if lost := sorted({each.record.lost for each in outcomes if each.record.lost}):
        again = resume_command(folder, loaded.paper_text if loaded else paper, pcap=pcap)
        what = f"trials failed since a machine was lost: {', '.join(lost)}"
        print_error(f"delaylab: {what}; run them again with: {again}")
    if any(outcome.status == "failed" for outcome in outcomes):
        raise typer.Exit(1)


def _write_packets(study: Study) -> None:
    """Write the round trips of all packets next to the dataset's trials, for other programs."""
    from delaylab_study.api.datasets import dataset_of

    dataset_of(study, None).write_packets()


def _prepare_to_resume(folder: Path, repeat: int | None) -> None:
    """Set aside what is then run again: trials that are damaged, or failed by a lost machine.

    Add repeats if they are wanted.
    """
    from delaylab_study.dataset.intact import set_aside, set_lost_aside
    from delaylab_study.verbs import studies

    for damage in set_aside(folder):
        print_error(f"delaylab: {damage}")
    if lost := set_lost_aside(folder):
        print_error(f"delaylab: run again, since a machine was lost: {', '.join(lost)}")
    if repeat is not None:
        studies.extend(folder, repeat)


def _list_studies(*, as_json: bool) -> None:
    from delaylab_study.verbs import study_plans

    known = study_plans.listed()
    print_found(known, lambda them: [*map(vars, them)], study_plans.print_list, as_json=as_json)


@app.command(rich_help_panel=HelpGroup.DATASETS)
def report(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="The directory of a dataset, which `run` prints.")
    ],
    paper: Paper = None,
    claims: Claims = None,
    as_json: Json = False,
) -> None:
    """Write a dataset's report: one HTML file that opens anywhere, and its charts."""
    from delaylab_study.dataset.intact import check_intact, read_intact

    study = read_intact(directory)  # damage is found before the slow imports
    from delaylab_study.verbs import datasets
    from delaylab_study.verbs.given import given, later_claims

    repeated = given(paper)
    path = datasets.report(study, repeated, later_claims(claims, study, repeated))
    _write_packets(study)
    if as_json:
        print_json({"report": str(path)})
    else:
        console().print(str(path), soft_wrap=True)
    check_intact(study)


@app.command(rich_help_panel=HelpGroup.DATASETS)
def charts(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="The directory of a dataset, which `run` prints.")
    ],
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="The drawings to write; left out, all of them."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only", metavar="NAME", help="Write this drawing only; may be repeated, as NAME may."
        ),
    ] = None,
    cell: Annotated[
        list[str] | None,
        typer.Option(
            "--cell",
            metavar="FACTOR=LEVEL",
            help="Draw trials of this level only; may be repeated.",
        ),
    ] = None,
    pdf: Annotated[bool, typer.Option("--pdf", help="Write PDF; this is the default.")] = False,
    svg: Annotated[bool, typer.Option("--svg", help="Write SVG.")] = False,
    png: Annotated[bool, typer.Option("--png", help="Write PNG of 600 dots per inch.")] = False,
    width: Annotated[
        str, typer.Option(help="The width of a drawing: that of a column in `mm`, `cm` or `in`.")
    ] = "85mm",
    out: Annotated[
        Path | None, typer.Option(help="The folder for the files; else `figures` in the dataset.")
    ] = None,
    paper: Paper = None,
    as_json: Json = False,
) -> None:
    """Write a dataset's drawings as files for a paper: as wide as a column, letters of 7 pt."""
    from delaylab_study.dataset.intact import check_intact, read_intact

    study = read_intact(directory)  # damage is found before the slow imports
    from delaylab_study.verbs import charts as drawn
    from delaylab_study.verbs.given import given, parse_only

    wanted: dict[drawn.Format, bool] = {"pdf": pdf, "svg": svg, "png": png}
    formats: list[drawn.Format] = [each for each, yes in wanted.items() if yes] or ["pdf"]
    mm = drawn.width_mm(width)
    wanted_names = [*(names or []), *(only or [])]
    cells = parse_only(cell or [], "--cell")
    found = drawn.draw(study, given(paper), wanted_names, formats, mm, out, cells=cells)
    if as_json:
        print_json([{**asdict(each), "files": [*map(str, each.files)]} for each in found])
    else:
        for each in found:
            files = "  ".join(map(str, each.files)) or f"left out: {each.why}"
            console().print(f"{each.name}  {files}", soft_wrap=True)
    check_intact(study)


@app.command(rich_help_panel=HelpGroup.DATASETS)
def show(
    directories: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR",
            help="The directory of a dataset, which `run` prints. Several of one study are shown "
            "together, with their machine, or their directory, as a factor.",
        ),
    ],
    paper: Paper = None,
    claims: Claims = None,
    as_json: Json = False,
    csv: Annotated[
        CsvTable | None,
        typer.Option(
            "--csv",
            metavar="TABLE",
            help="Print a table: one row for each packet (`packets`), for each segment of each "
            "packet (`segments`), for each node's work (`work`) or for each trial (`trials`), or a "
            "table of the report, such as `delays` or `links` (docs/report.md lists them).",
        ),
    ] = None,
    latex: Annotated[
        CsvTable | None,
        typer.Option(
            "--latex",
            metavar="TABLE",
            help="Print a table of the report, such as `layers` or `delays`, as LaTeX.",
        ),
    ] = None,
) -> None:
    """Show a dataset's numbers in the terminal."""
    from delaylab_study.dataset.intact import check_intact, read_intact

    asked = {"--csv": csv is not None, "--json": as_json, "--latex": latex is not None}
    forms = [name for name, given in asked.items() if given]
    if forms[1:]:
        raise BadInput(f"{' and '.join(forms)} exclude each other", fix="give one of them")
    if latex in OF_DATA:
        fix = f"--csv {latex} prints them"
        raise BadInput(f"--latex: {latex} are the data, and no table of the report", fix=fix)
    if as_json and directories[1:]:
        raise BadInput("--json is of one dataset", fix="give one, or --csv TABLE for several")
    studies = [read_intact(each) for each in directories]  # damage is found before slow imports
    if csv in OF_DATA:
        from delaylab_study.api.datasets import csv_of_all, dataset_of

        datasets_of = [dataset_of(study, None) for study in studies]
        sys.stdout.buffer.write(csv_of_all(datasets_of, OF_DATA[csv]))
        for each in studies:
            check_intact(each)
        return
    from delaylab_study.verbs import datasets
    from delaylab_study.verbs.given import given, later_claims

    repeated = given(paper)
    together = datasets.joined_analysis_of(studies) if studies[1:] else None
    study = together.study if together else studies[0]
    found = together or study
    later = later_claims(claims, study, repeated)
    if csv:
        sys.stdout.buffer.write(datasets.table(found, csv.value, repeated, later))
    elif latex:
        sys.stdout.buffer.write(datasets.latex(found, latex.value, repeated, later))
    elif as_json:
        print_json(datasets.numbers(found, repeated, later))
    else:
        datasets.show(console(), found, repeated, later)
    for each in studies:
        check_intact(each)


@app.command(rich_help_panel=HelpGroup.DATASETS)
def compare(
    given: Annotated[
        list[str],
        typer.Argument(
            metavar="DIR|FACTOR=LEVEL",
            help="The directories of two or more datasets, or that of one and two or more levels "
            "of one of its factors, such as `kind=native kind=lxc`, or two or more of the machines "
            "that ran it, such as `machine=lab1 machine=lab2`. Each is compared with the first.",
        ),
    ],
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FACTOR=LEVEL",
            help="Compare trials with this level of another factor only; may be repeated.",
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(
            "--report", metavar="FILE", help="Also write the comparison as HTML, with drawings."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare datasets, or levels of one: what is slower, faster or lost more often."""
    from delaylab_study.dataset.intact import check_intact, read_intact
    from delaylab_study.verbs.sides import parse_sides

    chosen = parse_sides(given, only or [])
    studies = [
        read_intact(folder) for folder in chosen.folders
    ]  # damage is found before slow imports
    from delaylab_study.report import compared
    from delaylab_study.report.compared_sections import sections
    from delaylab_study.report.rich_parts import print_sections
    from delaylab_study.verbs import datasets

    found = datasets.compared(studies, chosen)
    if page is not None:
        from delaylab_study.report.compared_page import write_page

        write_page(found, page)
    if as_json:
        print_json(compared.many_as_json(found))
    else:
        print_sections(console(), sections(found))
        if page is not None:
            console().print(f"\nreport   {page}", soft_wrap=True)
    for study in studies:
        check_intact(study)
