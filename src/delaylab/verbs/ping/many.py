"""Pings of several hosts at once, as fping does: a line for each packet, a row for each host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial

from rich.console import Console
from rich.table import Table

from delaylab.agent.result import AgentError
from delaylab.io.printable import printable
from delaylab.io.values import JsonObject
from delaylab.machines import LOCAL
from delaylab.verbs.ping.addresses import resolve
from delaylab.verbs.ping.lines import line, us
from delaylab.verbs.ping.machine import during, watching
from delaylab.verbs.ping.reading import End, OnPacket, deadline_s, finish
from delaylab.verbs.ping.result import PingPacket, PingResult, Spread, no_p99
from delaylab.verbs.ping.run import OnePing, PingOptions, check, print_head
from delaylab.verdicts.meanwhile import Meanwhile


@dataclass(frozen=True, slots=True)
class HostResult:
    """The result of a ping of one of several targets; without one, `failed` says why."""

    host: str
    target: str
    address: str
    result: PingResult | None
    failed: str | None = None

    @property
    def answered(self) -> bool:
        """Return True if there was an answer, other than an error or that the port is closed."""
        return self.result is not None and self.result.served > 0

    @property
    def problem(self) -> str | None:
        """Return why this host could not be pinged, or not to the end; None if it was."""
        return self.failed if self.result is None else self.result.cut_short

    def as_json(self) -> JsonObject:
        """Return the result as `ping --json` prints it in its list."""
        if self.result is None:
            asked = {"host": self.host, "target": self.target, "address": self.address}
            return {**asked, "error": self.failed}
        return self.result.as_json()


def run(
    each: Sequence[PingOptions],
    console: Console | None = None,
    watch: Callable[[PingOptions], OnPacket] | None = None,
) -> tuple[HostResult, ...]:
    """Ping hosts at the same time, each by an agent of its own; print each reply if asked for.

    A host that cannot be reached does not end the others. `watch` returns what is called with each
    packet of a target.
    """
    options = each[0]
    check(options, len(each))
    to = [resolve(one.host, one.version, one.origin.interface) for one in each]
    widest = max(len(one.target) for one in each)
    with ExitStack() as stack:
        pings = []
        for one, address in zip(each, to, strict=True):
            shown_to: list[OnPacket] = []
            if console is not None:
                print_head(one, address, console)
                if not options.quiet:
                    shown_to.append(partial(_write, console, f"{one.target:<{widest}}", address))
            if watch is not None:
                shown_to.append(watch(one))
            ping = OnePing(one, address, LOCAL.session(), shown_to or None)
            stack.callback(ping.end)
            pings.append(ping)
        for ping in pings:
            ping.start()
        until_s = deadline_s(options.deadline)
        machine = stack.enter_context(watching())
        end = finish([ping.reader for ping in pings], until_s, machine)
        meanwhile = machine.end()
        return tuple(_result(ping, end, meanwhile) for ping in pings)


def _result(ping: OnePing, end: End, meanwhile: Meanwhile) -> HostResult:
    host, target = ping.options.host, ping.options.target
    try:
        result = ping.result(end)
        result = replace(result, machine=during(meanwhile, result.packets))
        return HostResult(host, target, ping.address, result)
    except AgentError as error:
        # The line begins with the host; that an agent said so is of no interest.
        remedy = f" ({error.fix})" if error.fix else ""
        return HostResult(host, target, ping.address, None, f"{error.what}{remedy}")


def _write(console: Console, target: str, address: str, packet: PingPacket) -> None:
    console.file.write(f"{printable(f'{target}  {line(packet, address)}')}\n")
    console.file.flush()


def print_summary(results: Sequence[HostResult], console: Console) -> None:
    """Print a row for each target, then what there is to note."""
    table = Table(box=None, pad_edge=False)
    first = "host" if all(each.target == each.host for each in results) else "target"
    # An error comes sooner than an answer may: its row must not look like the faster one.
    errors = ("errors",) if any(each.result and each.result.flawed for each in results) else ()
    counted = ("sent", "replied", *errors, "late", "lost")
    times = ("user RTT min", "median", "p99", "max", "added here", "jitter")
    for title in (first, *counted, *times):
        left = title == first
        table.add_column(
            title,
            justify="left" if left else "right",
            no_wrap=not left,
            overflow="fold" if left else "ellipsis",
        )
    for each in results:
        table.add_row(each.target, *_cells(each.result, with_errors=bool(errors)))
    console.print()
    console.print(table)
    if why := no_p99(each.result.rtt_user_ns for each in results if each.result):
        console.print(why, highlight=False, style="dim")
    for each in results:
        for warning in each.result.warnings if each.result else ():
            console.print(f"note: {each.target}: {warning}", highlight=False, style="yellow")
    watched = [(each, each.result.machine) for each in results if each.result is not None]
    for each, machine in watched:
        for late in machine.late if machine else ():
            text = printable(f"late: {each.target}: {late.text}")
            console.print(text, highlight=False, markup=False, soft_wrap=True)
    # They were pinged at the same time, by the same machine.
    if verdict := next((machine.verdict for _, machine in watched if machine), None):
        console.print(printable(verdict), highlight=False, markup=False, soft_wrap=True)


def _cells(result: PingResult | None, *, with_errors: bool) -> list[str]:
    if result is None:
        return ["0"]
    found, added, jitter = result.rtt_user_ns, result.added_ns, result.jitter_user_ns
    errors = [result.flawed] if with_errors else []
    counts = [result.sent, result.replied, *errors, result.late, result.lost]
    return [
        *map(str, counts),
        *_times(found),
        "–" if added is None else us(added.median),
        "–" if jitter is None else us(jitter),
    ]


def _times(spread: Spread | None) -> list[str]:
    if spread is None:
        return ["–"] * 4
    p99 = "–" if spread.p99 is None else us(spread.p99)
    return [us(spread.min), us(spread.median), p99, us(spread.max)]
