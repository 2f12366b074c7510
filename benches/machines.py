"""Benchmark of labs over several machines: how long `up` takes, beside the same lab on one."""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tests.doing.machines.ssh_machines import Lan

from benches import cleanup
from benches.across import lan_of, reached
from benches.command import ring_with_chords
from benches.section import Section
from delaylab.kinds import KINDS
from delaylab.plan.build import build
from delaylab.plan.cabling.outward import Tunnel
from delaylab.plan.model import Bridge, Veth
from delaylab.plan.rights_of import UNKNOWN
from delaylab.resolve.load import lab_from
from delaylab.spec.source import parse

NODES, LINKS = 500, 1000
NAMES = ("m1", "m2", "m3", "m4")
ROUNDS = 2


@dataclass(frozen=True)
class Spread:
    """A way to spread the lab: on how many hosts, and on which machines these are."""

    words: str
    hosts: int
    machines: tuple[str, ...] = ()

    def lab(self, link: str = "") -> str:
        """Return the lab file; node after node fills one host, then the next."""
        return "\n".join([*self._lines(link), ""])

    def interfaces(self, link: str) -> int:
        """Return the number of interfaces that the lab's network has."""
        lab = lab_from(parse(self.lab(link), self.words))
        kinds = Counter(type(each) for each in build(lab, KINDS, UNKNOWN).operations)
        return 2 * kinds[Veth] + kinds[Bridge] + kinds[Tunnel]

    def _lines(self, link: str) -> Iterator[str]:
        yield "lab: spread"
        yield reached(list(dict.fromkeys(self.machines))) if self.machines else ""
        yield "hosts:"
        for number in range(self.hosts):
            on = f"machine: {self.machines[number]}" if self.machines else ""
            yield f"  h{number}: {{{on}}}"
        yield "nodes:"
        for number in range(NODES):
            yield f"  n{number}: {{host: h{number * self.hosts // NODES}}}"
        yield "links:"
        more = f", {link}" if link else ""
        for one, two in ring_with_chords(NODES, LINKS):
            yield f"  - {{between: [n{one}, n{two}]{more}}}"


SPREADS = (
    Spread("one host, here", 1),
    Spread("four hosts, here", 4),
    Spread("four hosts on one machine, by ssh", 4, (NAMES[0],) * 4),
    Spread("four hosts on four machines, by ssh", 4, NAMES),
)
DELAYS = {"": "none", "delay: 20ms": "20 ms"}


def run() -> Section:
    """Time `up` of each way in turn, without conditions and with a delay; the fastest counts."""
    section = Section(
        "machines",
        f"{NODES} nodes and {LINKS} links on one machine and on four",
        f"`delaylab up LAB` as a user types it; the fastest of {ROUNDS}, in turn. The machines are "
        "namespaces with an sshd each, on this computer: what four machines do side by side shares "
        "its CPUs, and so does ssh on both sides. Each begins once the kernel has torn down the "
        "previous lab. × one: beside the same four hosts on one machine. *Interfaces*: both ends "
        "of each cable count. A link within a host is two, one between hosts eleven, one between "
        "machines fourteen, if it has no conditions. Goal: 1.5.",
        ("lab", "delay of links", "interfaces", "seconds", "min … max", "× one", "down, s"),
    )
    with lan_of(NAMES) as machines:
        for link, words in DELAYS.items():
            taken: dict[Spread, list[tuple[float, float]]] = {each: [] for each in SPREADS}
            for _ in range(ROUNDS):
                for spread, times in taken.items():
                    times.append(_up_and_down(machines, spread.lab(link)))
            _add(section, link, words, taken)
    return section


def _up_and_down(machines: Lan, text: str) -> tuple[float, float]:
    cleanup.wait()
    began = time.monotonic()
    machines.up(text)
    ready = time.monotonic()
    machines.delaylab("down", "--all")
    return ready - began, time.monotonic() - ready


def _add(
    section: Section, link: str, delay: str, taken: dict[Spread, list[tuple[float, float]]]
) -> None:
    ups = {spread: [up for up, _ in times] for spread, times in taken.items()}
    one = min(ups[SPREADS[1]])
    for spread, times in taken.items():
        found = ups[spread]
        section.rows.append(
            (
                spread.words,
                delay,
                f"{spread.interfaces(link):,}",
                f"{min(found):.2f}",
                f"{min(found):.2f} … {max(found):.2f}",
                f"{min(found) / one:.2f}",
                f"{statistics.median(down for _, down in times):.2f}",
            )
        )
