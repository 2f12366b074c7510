"""The verb `ping`: its options, without logic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from delaylab.cli.numbers import seconds, whole
from delaylab.cli.options import INTERRUPTED, Json, app, console, print_json
from delaylab.errors import BadInput
from delaylab.io.terminal import print_error
from delaylab.units import Duration

if TYPE_CHECKING:
    from delaylab.verbs.ping import Options

LOCAL = "127.0.0.1"
MOST_PACKETS = 2**32 - 1
LARGEST_PAYLOAD = 65535 - 20 - 8
DAY = Duration.parse("24h")


@app.command()
def ping(
    host: Annotated[
        str,
        typer.Argument(metavar="HOST", help="The address or name of any host; no lab is needed."),
    ],
    count: Annotated[
        str | None,
        typer.Option(
            "--count",
            "-c",
            metavar="N",
            help="Stop after this many packets; else at Ctrl-C or after 100000.",
        ),
    ] = None,
    interval: Annotated[
        str, typer.Option("--interval", "-i", help="The time between packets, such as 200ms.")
    ] = "1s",
    flood: Annotated[
        bool,
        typer.Option(
            "--flood",
            "-f",
            help="Send as fast as replies come; at most 64 packets are unanswered at once.",
        ),
    ] = False,
    wait: Annotated[
        str,
        typer.Option(
            "--wait",
            "-W",
            help="The time to wait for a first reply after the last packet. Once a reply has come, "
            "it is twice the largest round trip, and the interval at least.",
        ),
    ] = "10s",
    size: Annotated[
        str, typer.Option("--size", "-s", metavar="BYTES", help="The payload in bytes.")
    ] = "56",
    ttl: Annotated[
        str | None,
        typer.Option(
            "--ttl", "-t", metavar="N", help="The time to live, or hop limit, to send with."
        ),
    ] = None,
    hops: Annotated[
        bool,
        typer.Option(
            "--hops",
            help="Probe each router on the way, as mtr does: its address, loss and round trip. The "
            "interval is that of one hop, the count that of each.",
        ),
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print the summary only, not each packet.")
    ] = False,
    metrics: Annotated[
        str | None,
        typer.Option(
            "--metrics",
            metavar="[ADDRESS:]PORT",
            help="Serve OpenMetrics at this port while it runs, to this machine only unless an "
            "address is given.",
        ),
    ] = None,
    ipv4: Annotated[bool, typer.Option("-4", help="Use IPv4 only.")] = False,
    ipv6: Annotated[bool, typer.Option("-6", help="Use IPv6 only.")] = False,
    realtime: Annotated[
        bool, typer.Option(help="Send with real-time scheduling, if allowed.")
    ] = True,
    as_json: Json = False,
) -> None:
    """Ping a host, and print how much of the round trip this machine itself added."""
    from delaylab.verbs import ping as verb
    from delaylab.verbs.ping_lines import print_summary

    between = Duration(0) if flood else seconds(interval, "--interval", DAY)
    if not between.ns and not flood:
        raise BadInput("without an interval packets are sent as fast as replies come: say --flood")
    if hops and metrics is not None:
        raise BadInput("--hops has no metrics: leave out --metrics")
    if hops and (flood or ttl is not None):
        raise BadInput("--hops sets the TTLs and keeps the interval: leave out --ttl and --flood")
    options = verb.Options(
        host,
        None if count is None else whole(count, "--count", 1, MOST_PACKETS),
        between,
        whole(size, "--size", 24, LARGEST_PAYLOAD),
        4 if ipv4 else 6 if ipv6 else None,
        realtime,
        wait=seconds(wait, "--wait", DAY),
        quiet=quiet,
        ttl=None if ttl is None else whole(ttl, "--ttl", 1, 255),
    )
    if hops:
        _ping_hops(options, as_json=as_json)
        return
    shown = None if as_json else console
    if metrics is None:
        result = verb.run(options, shown)
    else:
        from delaylab.verbs.ping_metrics import served

        address, port = _endpoint(metrics)
        with served(host, port, address) as watch:
            result = verb.run(options, shown, watch=watch)
    if as_json:
        print_json(result.as_json())
    else:
        print_summary(result, console)
    _end(interrupted=result.interrupted, answered=result.replied > 0)


def _end(*, interrupted: bool, answered: bool) -> None:
    """End with the exit code of Ctrl-C, or 1 if nothing was answered."""
    if interrupted:
        print_error("delaylab: interrupted")
        raise typer.Exit(INTERRUPTED)
    if not answered:
        raise typer.Exit(1)


def _endpoint(text: str) -> tuple[str, int]:
    """Return the address and the port of --metrics."""
    address, _, port = text.rpartition(":")
    return address.strip("[]") or LOCAL, whole(port, "--metrics", 1, 65535)


def _ping_hops(options: Options, *, as_json: bool) -> None:
    from delaylab.verbs import ping_hops

    result = ping_hops.run(options, None if as_json else console)
    if as_json:
        print_json(result.as_json())
    else:
        ping_hops.print_summary(result, console)
    _end(interrupted=result.interrupted, answered=result.reached)
