"""Verbs that make lab files: one function per verb, without logic."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from delaylab.cli import numbers
from delaylab.cli.numbers import duration
from delaylab.cli.options import Json, LabFile, PlaceBy, app, print_found
from delaylab.topology.options import Coordinates, Costs, Shape

Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write the lab file here; else print it."),
]
LabName = Annotated[str | None, typer.Option("--name", help="The name of the lab.")]
Kind = Annotated[str, typer.Option(help="The kind of the nodes.")]


@app.command("import")
def import_(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A file, a folder with lab.conf or with weights.intra and latencies.intra, or a "
            "map of a collection such as topohub:backbone/europe.",
        ),
    ],
    output: Output = None,
    name: LabName = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format", help="The format of the source; by default recognised by its content."
        ),
    ] = None,
    kind: Kind = "netns",
    km_delay: Annotated[
        str, typer.Option(help="The one-way delay of a kilometre, for distances.")
    ] = "5us",
    delay_unit: Annotated[
        str | None,
        typer.Option(help="The unit of the source's delays, such as 1ms; else the format's own."),
    ] = None,
    delay: Annotated[
        str | None, typer.Option(help="The one-way delay of links that have none in the source.")
    ] = None,
    rate: Annotated[
        bool, typer.Option("--rate", help="Also enforce the source's capacities, as `rate:`.")
    ] = False,
    cost: Annotated[
        Costs | None,
        typer.Option(
            help="What the costs of links, and so the routes, are made of; left out, the source's "
            "weights, else delays, else hops."
        ),
    ] = None,
    coordinates: Annotated[
        Coordinates | None,
        typer.Option(help="What the source's coordinates are; left out, what it says."),
    ] = None,
    one_way: Annotated[
        bool | None,
        typer.Option(
            "--one-way/--round-trip", help="What a latency matrix counts: it has to be said."
        ),
    ] = None,
    shape: Annotated[
        Shape,
        typer.Option(
            "--as",
            help="What a latency matrix becomes: a link for each pair, or a core "
            "with a link to each.",
        ),
    ] = Shape.MESH,
) -> None:
    """Turn a map of a network, or a lab of another tool, into a lab file; say what was assumed."""
    from delaylab.topology.options import Options
    from delaylab.verbs.maps import deliver, imported

    options = Options(
        km_delay=duration(km_delay, "--km-delay"),
        delay_unit=None if delay_unit is None else duration(delay_unit, "--delay-unit"),
        delay=None if delay is None else duration(delay, "--delay"),
        rate=rate,
        cost=cost,
        kind=kind,
        one_way=one_way,
        shape=shape,
        coordinates=coordinates,
    )
    deliver(imported(source, name, form, options), output)


@app.command()
def generate(
    shape: Annotated[
        str,
        typer.Argument(
            metavar="SHAPE",
            help="ring, line, star, grid, torus, fat-tree, leaf-spine, waxman, barabasi-albert or "
            "transit-stub.",
        ),
    ],
    sizes: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SIZE|NAME=VALUE …]",
            help="The shape's parameters, in their order or by name: `grid 3 4`, `fat-tree k=4`.",
        ),
    ] = None,
    output: Output = None,
    name: LabName = None,
    kind: Kind = "netns",
    seed: Annotated[
        int, typer.Option(min=0, max=2**31 - 1, help="The seed of what is drawn at random.")
    ] = 1,
    delay: Annotated[
        str | None,
        typer.Option(
            metavar="DELAY", help="The links' one-way delay; `1ms..10ms`: each draws its own."
        ),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(metavar="RATE", help="The links' rate; `10Mbit..1Gbit`: each draws its own."),
    ] = None,
    cost: Annotated[
        Costs, typer.Option(help="What the costs of links, and so the routes, are made of.")
    ] = Costs.HOPS,
) -> None:
    """Generate a network and print or write its lab file."""
    from delaylab.topology.generators import NetworkRequest, words
    from delaylab.topology.options import Options
    from delaylab.verbs.maps import deliver, generated

    request = NetworkRequest(shape, words(shape, sizes or []), seed, delay, rate)
    options = Options(cost=cost, kind=kind, rate=rate is not None)
    deliver(generated(request, name, options), output)


@app.command("place")
def place_(
    lab_file: LabFile,
    by: Annotated[
        PlaceBy | None, typer.Option(help="The method; left out, that of the file, or auto.")
    ] = None,
    compare: Annotated[bool, typer.Option("--compare", help="Show all methods.")] = False,
    hosts: Annotated[
        int | None,
        typer.Option(min=1, max=10_000, help="Try so many hosts, for a file that names none."),
    ] = None,
    nodes: Annotated[
        int | None, typer.Option(min=1, help="With --hosts: the most nodes that a host takes.")
    ] = None,
    interface: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RATE", help="With --hosts: an interface of each host; give it for each one."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="With --hosts: write the lab file with them."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show which host gets which node, by which method, and how good that is."""
    from delaylab.verbs import placements as verb

    rates = tuple(numbers.rate(each, "--interface") for each in interface or ())
    wanted = verb.wanted(hosts, nodes, rates, written=output is not None)
    method = None if by is None else by.value
    document, lab = verb.lab_for(lab_file, wanted, method)
    if compare:
        tried = list(verb.compared(lab))
        print_found(tried, verb.compared_json, verb.print_compared, as_json=as_json)
        return
    found = verb.placement(lab, document)
    if output is not None and wanted is not None:
        verb.write_with_hosts(document, lab_file, wanted, method or "auto", output)
    print_found(found, verb.as_json, partial(verb.print_placement, lab), as_json=as_json)
