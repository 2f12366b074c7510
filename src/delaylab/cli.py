"""The command line: one function per verb, without logic."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from delaylab.errors import BadInput, DelaylabError
from delaylab.io.terminal import json_text, print_error, terminal

app = typer.Typer(
    name="delaylab",
    help="A laboratory for packet delay: which layer added each microsecond, and can the number "
    "be believed.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
link = typer.Typer(help="Conditions of a running lab's links.", no_args_is_help=True)
app.add_typer(link, name="link")
console = terminal()
INTERRUPTED = 130

Json = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]
LabFile = Annotated[Path, typer.Argument(metavar="LAB.yaml", help="A lab file.")]
LabOption = Annotated[
    str | None, typer.Option("--lab", "-l", help="The lab; not needed if only one is up.")
]
Scale = Annotated[
    str,
    typer.Option(help="The study's size: `quick`, or a scale that it defines, such as `paper`."),
]
Only = Annotated[
    list[str] | None,
    typer.Option(metavar="FACTOR=LEVEL", help="Run only this level; may be given several times."),
]


class FileKind(StrEnum):
    """The file formats that `schema` knows."""

    LAB = "lab"
    STUDY = "study"


class ImageAction(StrEnum):
    """The actions of `image`."""

    LIST = "list"
    BUILD = "build"
    CLEAN = "clean"


def _print_json(value: Any) -> None:
    sys.stdout.write(json_text(value) + "\n")


@app.command()
def ping(
    host: Annotated[
        str, typer.Argument(metavar="HOST", help="Any address or name; no lab is needed.")
    ],
    count: Annotated[
        int | None, typer.Option("--count", "-c", min=1, help="Stop after this many packets.")
    ] = None,
    interval: Annotated[
        str, typer.Option("--interval", "-i", help="Time between packets, such as 200ms.")
    ] = "1s",
    size: Annotated[int, typer.Option("--size", "-s", min=24, help="Payload in bytes.")] = 56,
    ipv4: Annotated[bool, typer.Option("-4", help="IPv4 only.")] = False,
    ipv6: Annotated[bool, typer.Option("-6", help="IPv6 only.")] = False,
    realtime: Annotated[bool, typer.Option(help="Real-time scheduling, if allowed.")] = True,
    as_json: Json = False,
) -> None:
    """Ping a host, and print how much of the round trip this machine itself added."""
    from delaylab.units import Duration
    from delaylab.verbs import ping as verb

    try:
        parsed = Duration.parse(interval if not _is_number(interval) else f"{interval}s")
    except ValueError as error:
        raise BadInput(str(error), "--interval") from None
    version = 4 if ipv4 else 6 if ipv6 else None
    options = verb.Options(host, count, parsed, size, version, realtime)
    result = verb.run(options, None if as_json else console)
    if as_json:
        _print_json(verb.as_json(result))
    else:
        verb.print_summary(result, console)
    if result.replied == 0:
        raise typer.Exit(1)


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


@app.command()
def run(
    study: Annotated[
        str | None, typer.Argument(metavar="STUDY|FILE", help="A shipped study, or a file.")
    ] = None,
    scale: Scale = "quick",
    only: Only = None,
    out: Annotated[Path | None, typer.Option(help="Where to put the dataset.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Continue the study of this dataset.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the trials only.")] = False,
    pcap: Annotated[
        bool, typer.Option("--pcap", help="Keep the probe's packets as pcapng, for Wireshark.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run a study: start labs, loads and probes, then print its table and write its report."""
    from delaylab.verbs.study_file import load, parse_only

    chosen = parse_only(only or [])
    if (study is None) == (resume is None):
        raise BadInput("give a study, or --resume DIR", fix="delaylab run quickstart")
    loaded = load(study or "") if resume is None or dry_run else None
    from delaylab.verbs import studies

    if dry_run and loaded:
        trials = studies.dry_run(loaded, scale, chosen)
        if as_json:
            _print_json([vars(trial) for trial in trials])
            return
        for trial in trials:
            console.print(f"{trial.expected_s:8.1f} s  {trial.packets:8d}  {trial.id}")
        console.print(f"{sum(t.expected_s for t in trials):8.1f} s  {len(trials)} trials")
        return
    folder = studies.begin(loaded, scale, chosen, out) if loaded else resume or Path()
    try:
        outcomes = studies.run(folder, terminal(stderr=True), pcap=pcap)
    except KeyboardInterrupt:
        console.print(f"\ninterrupted; finished trials are kept: delaylab run --resume {folder}")
        raise typer.Exit(INTERRUPTED) from None
    report = studies.finish(folder, terminal(stderr=True) if as_json else console)
    if as_json:
        _print_json({**studies.as_json(folder), "directory": str(folder), "report": str(report)})
    else:
        console.print(f"\ndataset  {folder}\nreport   {report}", soft_wrap=True)
    if any(outcome.status == "failed" for outcome in outcomes):
        raise typer.Exit(1)


@app.command()
def report(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A dataset.")],
    as_json: Json = False,
) -> None:
    """Write a dataset's report: one HTML file that opens anywhere, and its charts."""
    from delaylab.dataset.store import read_study

    study = read_study(directory)  # damage is reported before the slow imports
    from delaylab.report.html import write_report

    path = write_report(study)
    if as_json:
        _print_json({"report": str(path)})
    else:
        console.print(str(path), soft_wrap=True)


@app.command()
def show(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A dataset.")],
    as_json: Json = False,
) -> None:
    """Show a dataset's numbers in the terminal."""
    from delaylab.dataset.store import read_study

    study = read_study(directory)  # damage is reported before the slow imports
    from delaylab.report.show import as_json as numbers
    from delaylab.report.terminal import print_study

    if as_json:
        _print_json(numbers(study))
    else:
        print_study(console, study)


@app.command()
def plan(lab_file: LabFile, as_json: Json = False) -> None:
    """Print what `up` would start and build."""
    from delaylab import spec
    from delaylab.kinds import KINDS
    from delaylab.machine.rights import own_rights
    from delaylab.plan import build
    from delaylab.verbs.labs import print_plan

    made = build(spec.load_lab(lab_file), KINDS, own_rights())
    if as_json:
        _print_json(made.message())
    else:
        print_plan(made, console)


@app.command()
def up(
    lab_file: LabFile,
    name: Annotated[str | None, typer.Option(help="The lab's name, if not the file's.")] = None,
    as_json: Json = False,
) -> None:
    """Start a lab, which runs until `down`; if it runs already, restart its links that are down."""
    from delaylab import spec
    from delaylab.verbs import labs
    from delaylab.verbs.images import bar

    with bar(terminal(stderr=True)) as progress:
        started = labs.up(spec.load_lab(lab_file), name, progress)
    if as_json:
        _print_json(labs.described(started))
    else:
        labs.print_labs([started], console)
        for warning in started.warnings:
            console.print(f"note: {warning.message}", style="yellow")


@app.command()
def ps(as_json: Json = False) -> None:
    """List running labs: nodes, processes, addresses, and whether links keep their conditions."""
    from delaylab import hosts
    from delaylab.lab.start import attached
    from delaylab.verbs.labs import described, print_labs

    labs = [attached(one) for one in hosts.running()]
    if as_json:
        _print_json({"labs": [described(one) for one in labs]})
    else:
        print_labs(labs, console)


@link.command("show")
def link_show(
    lab_name: Annotated[str | None, typer.Argument(metavar="[LAB]", help="The lab's name.")] = None,
    name: Annotated[str | None, typer.Argument(metavar="[LINK]", help="Only this link.")] = None,
    as_json: Json = False,
) -> None:
    """Show a running lab's links: conditions, what was done, and whether they were kept."""
    from delaylab.lab.start import attach
    from delaylab.verbs import links

    reports = links.shown(attach(lab_name), name)
    if as_json:
        _print_json({"engines": links.as_json(reports)})
    else:
        links.print_links(reports, console)


@link.command("set")
def link_set(
    lab_name: Annotated[str, typer.Argument(metavar="LAB", help="The lab's name.")],
    name: Annotated[str, typer.Argument(metavar="LINK", help="The link's name.")],
    conditions: Annotated[
        list[str],
        typer.Argument(metavar="CONDITION=VALUE …", help="As in a lab file; `none` removes one."),
    ],
    node: Annotated[
        str | None, typer.Option(metavar="NODE", help="Only the direction from this node.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Change some conditions of a running link; the others stay as they are."""
    from delaylab.lab.start import attach
    from delaylab.verbs import links

    given = links.words(conditions)
    reports = links.change(attach(lab_name), name, node, given)
    if as_json:
        _print_json({"engines": links.as_json(reports)})
    else:
        links.print_links(reports, console)


@app.command("exec", context_settings={"ignore_unknown_options": True})
def execute(
    node: Annotated[str, typer.Argument(metavar="NODE", help="A node, a host, or `wire`.")],
    command: Annotated[
        list[str], typer.Argument(metavar="-- COMMAND …", help="The command to run.")
    ],
    lab_name: LabOption = None,
) -> None:
    """Run a command in a node, `delaylab exec NODE -- COMMAND …`, and exit with its exit code."""
    from delaylab.lab.start import attach
    from delaylab.verbs import execute as verb

    terminal = sys.stdin.isatty() and sys.stdout.isatty()
    raise typer.Exit(verb.run(attach(lab_name), node, command, terminal=terminal))


@app.command()
def shell(
    node: Annotated[str, typer.Argument(metavar="NODE", help="A node, a host, or `wire`.")],
    lab_name: LabOption = None,
) -> None:
    """Open a shell in a node."""
    import os

    from delaylab.lab.start import attach
    from delaylab.verbs import execute as verb

    attached = attach(lab_name)
    # A node with a root file system of its own need not have the user's shell.
    argv = ["/bin/sh"] if attached.has_own_root(node) else [os.environ.get("SHELL", "/bin/sh")]
    raise typer.Exit(verb.run(attached, node, argv, terminal=sys.stdin.isatty()))


@app.command()
def down(
    name: Annotated[str | None, typer.Argument(metavar="LAB", help="The lab's name.")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All labs, and all that killed labs left.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Stop a lab and remove all that belongs to it; no lab file is needed."""
    from delaylab.verbs import labs

    gone, left = labs.down(name, everything=everything)
    if as_json:
        _print_json({"down": gone, "failed": left.failed, "foreign": left.foreign})
    else:
        console.print(f"down: {', '.join(gone) or 'nothing was up'}")
        if everything and left.foreign:
            console.print(f"not a lab's, left alone: {', '.join(left.foreign)}")
    for each in left.failed:
        print_error(f"delaylab: cannot be removed: {each}")
    if left.failed:
        raise typer.Exit(1)


@app.command()
def image(
    action: Annotated[
        ImageAction,
        typer.Argument(metavar="[list|build|clean]", help="What to do with the images."),
    ] = ImageAction.LIST,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME …]", help="build: only these images.")
    ] = None,
    old: Annotated[bool, typer.Option("--old", help="clean: keep the newest of each.")] = False,
    as_json: Json = False,
) -> None:
    """List, build or remove the images that containers and virtual machines boot."""
    from delaylab.verbs import images as verb

    if (names and action != ImageAction.BUILD) or (old and action != ImageAction.CLEAN):
        raise BadInput("names are for `image build`, --old is for `image clean`")
    layers = verb.act(action, names or [], terminal(stderr=True), old=old)
    if as_json:
        _print_json(verb.as_json(layers))
    else:
        verb.print_done(action, layers, console)


@app.command()
def doctor(
    kind: Annotated[
        list[str] | None, typer.Option("--kind", help="Try only this kind; may be repeated.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Check which node kinds, taps and tools work on this machine, and how to enable the rest."""
    from delaylab.verbs import doctor as verb
    from delaylab.verbs.images import bar

    with bar(terminal(stderr=True)) as progress:
        checks = verb.examine(kind, progress)
    if as_json:
        _print_json(verb.as_json(checks))
    else:
        verb.print_checks(checks, console)


@app.command()
def schema(
    of: Annotated[FileKind, typer.Argument(metavar="lab|study", help="The file format.")],
) -> None:
    """Print the JSON schema of lab or study files, for editors."""
    from delaylab.verbs.schema import schema as verb

    _print_json(verb(of.value))


def main() -> None:
    """Run the command line; print errors that a user can correct as one line."""
    try:
        app()
    except DelaylabError as error:
        print_error(f"delaylab: {error}")
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        sys.exit(1)
