"""Verbs of labs and of this machine: one function per verb, without logic."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from delaylab.cli.options import (
    ImageAction,
    Json,
    LabFile,
    NamesLab,
    OneLab,
    Sudo,
    app,
    console,
    link,
    print_found,
    print_json,
)
from delaylab.errors import BadInput
from delaylab.io import interrupts
from delaylab.io.terminal import print_error


@app.command()
def plan(lab_file: LabFile, as_json: Json = False) -> None:
    """Print what `up` would start and build; touch nothing."""
    from delaylab.kinds import KINDS
    from delaylab.machines import LOCAL
    from delaylab.plan.build import build
    from delaylab.verbs.lab_file import load
    from delaylab.verbs.plans import print_plan

    lab = load(lab_file)
    made = build(lab, KINDS, LOCAL.rights())
    if as_json:
        print_json(made.message())
    else:
        print_plan(made, lab, sys.stdout)


@app.command()
def graph(
    lab_file: LabFile,
    svg: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the picture as SVG to this file; `-`: print it."),
    ] = None,
    png: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the picture as PNG to this file.")
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a page to this file, with pan, zoom and search, for labs of any size.",
        ),
    ] = None,
    running: Annotated[
        bool,
        typer.Option(
            "--running", help="Colour nodes and links by their state in the lab that is up."
        ),
    ] = False,
    anew: Annotated[
        bool,
        typer.Option("--anew", help="Find new places for all nodes, other than the kept ones."),
    ] = False,
) -> None:
    """Draw a lab: its hosts, nodes and links, and the links' conditions.

    Pictures have the places of the file (`at:`); else each node keeps the place that it had in the
    last picture, and new ones find theirs among them.
    """
    from delaylab.resolve.load import load_lab
    from delaylab.verbs.graph import draw
    from delaylab.verbs.pictures import Targets

    targets = Targets(svg, png, html)
    draw(load_lab(lab_file), lab_file, console(), targets, running=running, anew=anew)


@app.command()
def up(
    lab_file: LabFile,
    name: Annotated[str | None, typer.Option(help="The name of the lab; else the file's.")] = None,
    as_json: Json = False,
) -> None:
    """Start a lab, which runs until `down`. If it runs already, restart its links that are down.

    A lab that runs from the same file is left as it is; one from another file is refused.
    """
    from delaylab.verbs import labs
    from delaylab.verbs import up as verb
    from delaylab.verbs.lab_file import load
    from delaylab.verbs.progress_bar import bar

    with ExitStack() as interruptible:
        with bar(console(stderr=True)) as progress:
            wanted = verb.up(load(lab_file), name, progress)
            started = interruptible.enter_context(wanted)
        if as_json:
            found = started.converged
            routing = {} if found is None else {"routing": asdict(found)}
            print_json({**labs.described(started), **routing})
        else:
            labs.print_started(started, console())
            if started.converged is not None:
                console().print(f"{started.name}: {started.converged.line()}", soft_wrap=True)
            for warning in started.warnings:
                console().print(f"note: {warning.message}", style="yellow")
        interrupts.ignore()  # the lab has been reported, and stays


@app.command()
def ps(
    machine: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SSH",
            help="Find the labs that this machine, reached by ssh, has a part of, and know them "
            "from now on, as if they had been started from here; may be repeated.",
        ),
    ] = None,
    sudo: Sudo = False,
    as_json: Json = False,
) -> None:
    """List running labs: nodes, processes, addresses, and whether links keep their conditions.

    Addresses are those that each node has now, without link-local ones; one that it got when the
    lab started and has no more is `(lost)`. Of a node that does not answer they are the planned
    ones.
    """
    from delaylab.lab.attach import attach_all
    from delaylab.verbs.labs import described, find_on, print_labs

    find_on(machine or [], sudo=sudo)
    labs = attach_all()
    print_found(labs, lambda them: {"labs": [*map(described, them)]}, print_labs, as_json=as_json)


@link.command("show", cls=NamesLab)
def link_show(
    lab_name: OneLab = None,
    name: Annotated[
        str | None, typer.Argument(metavar="[LINK]", help="Show only this link.")
    ] = None,
    reset: Annotated[
        bool,
        typer.Option(
            "--reset",
            help="Then start all counts of the lab anew, so that the next verdict is about what "
            "comes from now on. Not for a lab in which a study runs.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Show a running lab's links: conditions, counts, lateness, and whether conditions held."""
    from delaylab.lab.attach import attach
    from delaylab.lab.links import interfaces
    from delaylab.verbs import links, underlays

    lab = attach(lab_name)
    # Before the counts: a verdict is about them and the network at that moment.
    between, closed = underlays.measured_now(lab, name), underlays.closed_now(lab, name)
    reports = links.shown(lab, name, reset=reset)
    of_hosts = interfaces.reports(lab, name)
    costs = links.costs(lab, name)
    if as_json:
        found = {"interfaces": [asdict(each) for each in of_hosts]} if of_hosts else {}
        if between:
            found["underlays"] = [each.model_dump(mode="json") for each in between]
        if closed:
            found["closed"] = [each.model_dump(mode="json") for each in closed]
        told = {"costs": costs} if costs else {}
        print_json({"engines": links.as_json(reports, between, closed), **found, **told})
    else:
        links.print_links(reports, console(), between, closed)
        links.print_interfaces(of_hosts, console())
        links.print_costs(costs, console())


@link.command("set", cls=NamesLab)
def link_set(
    lab_name: Annotated[str, typer.Argument(metavar="LAB", help="The name of the lab.")],
    name: Annotated[str, typer.Argument(metavar="LINK", help="The name of the link.")],
    conditions: Annotated[
        list[str],
        typer.Argument(
            metavar="CONDITION=VALUE …",
            help="Conditions as in a lab file; `none` removes one. `cost=100` tells the routing "
            "daemons of the link another cost.",
        ),
    ],
    node: Annotated[
        str | None, typer.Option(metavar="NODE", help="Change only the direction from this node.")
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="NODE",
            help="Change what this node receives (`to` in the lab file), not what nodes send.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Change some conditions of a running link; the others stay as they are."""
    from delaylab.lab.attach import attach
    from delaylab.verbs import link_change, links

    given = link_change.words(conditions)
    lab = attach(lab_name)
    reports = link_change.change(lab, name, node, given, to=to)
    costs = {} if given.cost is None else links.costs(lab, name)
    if as_json:
        print_json({"engines": links.as_json(reports), **({"costs": costs} if costs else {})})
    else:
        links.print_links(reports, console())
        links.print_costs(costs, console())


@app.command(cls=NamesLab)
def down(
    name: OneLab = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Stop all labs, and remove what killed labs left.")
    ] = False,
    machine: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SSH",
            help="First find the labs that this machine, reached by ssh, has a part of, as "
            "`ps --machine` does; may be repeated.",
        ),
    ] = None,
    sudo: Sudo = False,
    forget: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MACHINE",
            help="Give up the lab's part on this machine if it cannot be reached; may be repeated.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Stop a lab and remove everything that belongs to it.

    Of a lab over several machines, the parts on all machines that can be reached are taken down.
    The lab stays known while a part is left, unless that is given up with --forget.
    """
    from delaylab.verbs import labs
    from delaylab.verbs.progress_bar import bar

    with bar(console(stderr=True)) as progress:
        done = labs.down(
            name,
            progress,
            everything=everything,
            machines=machine or [],
            sudo=sudo,
            forgotten=forget or [],
        )
    left = done.left
    if as_json:
        remains = [str(each) for each in left.failed]
        failed = [*map(str, done.failed), *remains]
        print_json(
            {"down": done.labs, "failed": failed, "foreign": left.foreign, "parts": done.parts}
        )
    else:
        if done.labs or not (done.failed or done.parts):
            console().print(f"down: {', '.join(done.labs) or 'nothing was up'}")
        for lab, parts in done.parts.items():
            for part, said in parts.items():
                console().print(f"{lab}: machine {part}: {said}", soft_wrap=True)
        if everything and left.foreign:
            console().print(f"not a lab's, left alone: {', '.join(left.foreign)}")
    for error in done.failed:
        print_error(f"delaylab: {error}")
    for each in left.failed:
        print_error(f"delaylab: cannot be removed: {each}")
    # Remains of another lab are reported, but this one is down.
    if done.failed or any(everything or each.lab in done.labs for each in left.failed):
        raise typer.Exit(1)


@app.command()
def image(
    action: Annotated[
        ImageAction,
        typer.Argument(metavar="[list|build|clean]", help="The action."),
    ] = ImageAction.LIST,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME …]",
            help="For `build`: only these images. An image with packages is named with them, such "
            "as `container:xz-utils` or `disk:xz-utils`.",
        ),
    ] = None,
    old: Annotated[
        bool, typer.Option("--old", help="For `clean`: keep the newest of each.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List, build or remove the images that containers and virtual machines boot."""
    from delaylab.verbs import images as verb

    if (names and action != ImageAction.BUILD) or (old and action != ImageAction.CLEAN):
        raise BadInput("names are for `image build`, --old is for `image clean`")
    layers = verb.act(action, names or [], console(stderr=True), old=old)
    print_found(layers, verb.as_json, partial(verb.print_done, action), as_json=as_json)
