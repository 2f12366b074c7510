"""The verb `ping`: its options, without logic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from delaylab.cli.numbers import octet, seconds, whole
from delaylab.cli.options import INTERRUPTED, Json, app, console, print_found
from delaylab.errors import BadInput, DelaylabError
from delaylab.io.terminal import print_error
from delaylab.units import Duration

if TYPE_CHECKING:
    from delaylab.verbs.ping.metrics import Metrics
    from delaylab.verbs.ping.run import PingOptions

LOCAL = "127.0.0.1"
MOST_PACKETS = 2**32 - 1
LARGEST_PAYLOAD = 65535 - 20 - 8
PAYLOAD = "56"
DAY = Duration.parse("24h")


@app.command()
def ping(
    hosts: Annotated[
        list[str],
        typer.Argument(
            metavar="HOST…",
            help="The address or name of any host; no lab is needed. Several are pinged at the "
            "same time. A link-local address of IPv6 names its interface, as fe80::1%eth0.",
        ),
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
            help="Send as fast as replies come; at most 64 packets are unanswered at once. One "
            "that takes over twice the largest round trip so far is given up.",
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
    deadline: Annotated[
        str | None,
        typer.Option(
            "--deadline",
            "-w",
            metavar="TIME",
            help="End after this time, however many packets were sent or answered.",
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--source",
            "-I",
            metavar="ADDRESS|INTERFACE",
            help="Send from this address, or by this interface, of this machine.",
        ),
    ] = None,
    tos: Annotated[
        str | None,
        typer.Option(
            "--tos",
            "-Q",
            metavar="BYTE",
            help="The type of service or traffic class to send with, such as 0xb8: DSCP in its "
            "high 6 bits. A Linux host answers an echo with the same.",
        ),
    ] = None,
    tcp: Annotated[
        bool,
        typer.Option(
            "--tcp",
            help="Time TCP handshakes with --port instead of ICMP echoes: a SYN and its answer.",
        ),
    ] = False,
    http: Annotated[
        bool,
        typer.Option(
            "--http",
            help="Time HTTP/1.1 requests: from the request to the first byte of its answer and to "
            "its last, and the handshake apart. A redirection (3xx) is named, and not followed. "
            "HOST may be an address as http://HOST:PORT/PATH or https://HOST/PATH, which needs no "
            "--http.",
        ),
    ] = False,
    dns: Annotated[
        str | None,
        typer.Option("--dns", metavar="NAME", help="Ask HOST for this name by DNS over UDP."),
    ] = None,
    record: Annotated[
        str | None,
        typer.Option("--record", metavar="TYPE", help="The type of record for --dns; else A."),
    ] = None,
    udp: Annotated[
        str | None,
        typer.Option(
            "--udp",
            metavar="TEXT",
            help="Send datagrams with this payload to --port, each from a port of its own.",
        ),
    ] = None,
    answer: Annotated[
        str | None,
        typer.Option(
            "--answer",
            metavar="PATTERN",
            help="The answer to --udp, in which * stands for any bytes; else any datagram.",
        ),
    ] = None,
    keep_alive: Annotated[
        bool,
        typer.Option(
            "--keep-alive", help="Send HTTP requests one after the other on one connection."
        ),
    ] = False,
    insecure: Annotated[
        bool, typer.Option("--insecure", "-k", help="Check no certificate of https://….")
    ] = False,
    authorities: Annotated[
        str | None,
        typer.Option(
            "--authorities",
            metavar="FILE",
            help="Trust these certificates (PEM), instead of those that this machine trusts.",
        ),
    ] = None,
    port: Annotated[
        str | None,
        typer.Option("--port", "-p", metavar="N", help="The port, for all but ICMP echoes."),
    ] = None,
    path: Annotated[
        str | None,
        typer.Option("--path", metavar="PATH", help="The path for --http; else it is /."),
    ] = None,
    size: Annotated[
        str,
        typer.Option("--size", "-s", metavar="BYTES", help="The payload of an ICMP echo in bytes."),
    ] = PAYLOAD,
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
    clean: Annotated[
        bool,
        typer.Option(
            "--clean",
            help="Refuse packets that this machine biased, by what each waited for, and send as "
            "many again at its end. Without the right to record what CPUs do, the use of the "
            "machine decides, and others are sent when it is not in use. It needs --count.",
        ),
    ] = False,
    clean_budget: Annotated[
        str | None,
        typer.Option(
            "--clean-budget",
            metavar="N",
            help="Send at most this many packets again; else as many as --count.",
        ),
    ] = None,
    why: Annotated[
        bool,
        typer.Option(
            "--why",
            help="Say why packets were late: who had the CPU, who stopped or throttled whom. It "
            "needs the right to record what this machine's CPUs do.",
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
            "address is given. With --why it has the excess of late packets by cause.",
        ),
    ] = None,
    ipv4: Annotated[bool, typer.Option("-4", help="Use IPv4 only.")] = False,
    ipv6: Annotated[bool, typer.Option("-6", help="Use IPv6 only.")] = False,
    realtime: Annotated[
        bool, typer.Option(help="Send with real-time scheduling, if allowed.")
    ] = True,
    as_json: Json = False,
) -> None:
    """Ping hosts, and print how much of the round trip this machine itself added.

    The summary says if this machine was not quiet meanwhile, who disturbed it, and what it did
    around the latest packets.
    """
    from delaylab.verbs.ping import run as verb
    from delaylab.verbs.ping.addresses import ANYWHERE, IPV4, find_origin
    from delaylab.verbs.ping.target import Asking, find_target

    asking = Asking(
        tcp=tcp,
        http=http,
        dns=dns,
        record=record,
        udp=udp,
        answer=answer,
        path=path,
        keep_alive=keep_alive,
        unchecked=insecure,
        authorities=authorities,
    )
    of_web = any(host.startswith(("http://", "https://")) for host in hosts)
    other_than_echo = tcp or http or of_web or dns is not None or udp is not None
    between = Duration(0) if flood else seconds(interval, "--interval", DAY)
    origin = ANYWHERE if source is None else find_origin(source)
    other = origin.version is not None and (ipv6 if origin.version == IPV4 else ipv4)
    for wrong, what in (
        (
            not between.ns and not flood,
            "without an interval packets are sent as fast as replies come: say --flood",
        ),
        (hops and len(hosts) > 1, "--hops probes the way to one host: name only one"),
        (hops and metrics is not None, "--hops has no metrics: leave out --metrics"),
        (
            hops and (flood or ttl is not None),
            "--hops sets the TTLs and keeps the interval: leave out --ttl and --flood",
        ),
        (
            hops and deadline is not None,
            "--hops ends after --count rounds: leave out --deadline",
        ),
        (
            other_than_echo and size != PAYLOAD,
            "only an ICMP echo has a payload to set: leave out --size",
        ),
        (
            other_than_echo and hops,
            "--hops sends echoes: leave out --tcp, --http, --dns, --udp and URLs",
        ),
        (clean and hops, "--hops repeats no packets: leave out --clean"),
        (clean and len(hosts) > 1, "--clean repeats packets to one host: name only one"),
        (clean and flood, "--clean looks at the machine between packets: leave out --flood"),
        (clean and count is None, "--clean is for a number of clean packets: give --count"),
        (clean_budget is not None and not clean, "--clean-budget goes with --clean"),
        (why and hops, "--hops has no causes: leave out --why"),
        (why and len(hosts) > 1, "--why is for packets to one host: name only one"),
        (why and clean, "--clean has no causes: leave out --why"),
        (ipv4 and ipv6, "-4 and -6 exclude each other: leave out one"),
        (other, f"{source} is an address of the other IP version: leave out -4 and -6"),
    ):
        if wrong:
            raise BadInput(what)
    number = None if port is None else whole(port, "--port", 1, 65535)
    targets = [find_target(host, asking, number) for host in hosts]
    first = targets[0]
    options = verb.PingOptions(
        first.host,
        None if count is None else whole(count, "--count", 1, MOST_PACKETS),
        between,
        whole(size, "--size", 24, LARGEST_PAYLOAD),
        origin.version or (4 if ipv4 else 6 if ipv6 else None),
        realtime,
        wait=seconds(wait, "--wait", DAY),
        quiet=quiet,
        ttl=None if ttl is None else whole(ttl, "--ttl", 1, 255),
        protocol=first.protocol,
        port=first.port,
        path=first.path,
        asking=asking,
        deadline=None if deadline is None else seconds(deadline, "--deadline", DAY),
        origin=origin,
        tos=None if tos is None else octet(tos, "--tos"),
        why=why,
    )
    if clean:
        most = str(options.count) if clean_budget is None else clean_budget
        options = replace(options, repeats=whole(most, "--clean-budget", 0, MOST_PACKETS))
    if hops:
        _ping_hops(options, as_json=as_json)
        return
    each = [
        replace(options, host=to.host, protocol=to.protocol, port=to.port, path=to.path)
        for to in targets
    ]
    with _metrics(metrics) as served:
        if len(each) == 1:
            _ping_one(options, served, as_json=as_json)
        else:
            _ping_many(each, served, as_json=as_json)


@contextmanager
def _metrics(endpoint: str | None) -> Iterator[Metrics | None]:
    """Serve metrics if an endpoint is given, and yield them."""
    if endpoint is None:
        yield None
        return
    from delaylab.verbs.ping.metrics import served

    address, port = _endpoint(endpoint)
    with served(port, address) as metrics:
        yield metrics


def _ping_one(options: PingOptions, metrics: Metrics | None, *, as_json: bool) -> None:
    from delaylab.verbs.ping import run as verb
    from delaylab.verbs.ping.lines import print_summary

    counted = metrics.of(options) if metrics else None
    late = metrics.late_of(options) if metrics and options.why else None
    shown_on = None if as_json else console()
    if options.repeats is None:
        result = verb.run(options, shown_on, watch=counted, on_late=late)
    else:
        from delaylab.verbs.ping import clean

        result = clean.run(options, shown_on, counted)
    print_found(result, lambda it: it.as_json(), print_summary, as_json=as_json)
    if result.cut_short is not None:
        raise DelaylabError(result.cut_short, fix="the packets above came before")
    _end(interrupted=result.interrupted, answered=result.served > 0)


def _ping_many(each: Sequence[PingOptions], metrics: Metrics | None, *, as_json: bool) -> None:
    from delaylab.verbs.ping import many as ping_many

    watch = metrics.of if metrics else None
    results = ping_many.run(each, None if as_json else console(), watch)
    print_found(
        results,
        lambda it: [each.as_json() for each in it],
        ping_many.print_summary,
        as_json=as_json,
    )
    for result in results:
        if result.problem is not None:
            print_error(f"delaylab: {result.target}: {result.problem}")
    interrupted = any(found.result.interrupted for found in results if found.result is not None)
    _end(interrupted=interrupted, answered=all(result.answered for result in results))


def _end(*, interrupted: bool, answered: bool) -> None:
    """End with the exit code of Ctrl-C, or 1 if all answers were errors or of a closed port."""
    if interrupted:
        print_error("delaylab: interrupted")
        raise typer.Exit(INTERRUPTED)
    if not answered:
        raise typer.Exit(1)


def _endpoint(text: str) -> tuple[str, int]:
    """Return the address and the port of --metrics."""
    address, _, port = text.rpartition(":")
    return address.strip("[]") or LOCAL, whole(port, "--metrics", 1, 65535)


def _ping_hops(options: PingOptions, *, as_json: bool) -> None:
    from delaylab.verbs.ping import hops as ping_hops

    result = ping_hops.run(options, None if as_json else console())
    print_found(result, lambda it: it.as_json(), ping_hops.print_summary, as_json=as_json)
    _end(interrupted=result.interrupted, answered=result.reached)
