"""A lab with more neighbours than the kernel keeps is said to be one, with the remedy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from delaylab.kinds import KINDS
from delaylab.lab.neighbours import note_on_neighbours
from delaylab.machines import LOCAL
from delaylab.plan.build import build
from delaylab.plan.kind import Rights
from delaylab.plan.model import Plan, Resolved
from delaylab.plan.resolved import FEW
from delaylab.resolve.load import lab_from
from delaylab.spec.source import parse


@dataclass
class Machine:
    """A machine that keeps so many neighbours."""

    room: int | None

    def most_neighbours(self) -> int | None:
        return self.room


def plan() -> Plan:
    """A link of four nodes, in which each has three neighbours, and one of two."""
    text = "lab: x\nnodes: {a: {}, b: {}, c: {}, d: {}}\nlinks:\n"
    text += "  - {join: [a, b, c, d], name: lan}\n  - {between: [a, b], name: p2p}\n"
    return build(lab_from(parse(text, "x.yaml")), KINDS, Rights(root=True))


@pytest.mark.parametrize(("room", "said"), [(13, True), (14, False), (None, False)])
def test_a_lab_with_more_neighbours_than_room_is_noted(room: int | None, said: bool) -> None:
    notes = note_on_neighbours(plan(), Machine(room))  # type: ignore[arg-type]
    assert bool(notes) == said
    for note in notes:
        assert "14 neighbours, and the kernel keeps 13" in note.message
        assert "sysctl -w net.ipv4.neigh.default.gc_thresh3=28" in note.message


def test_this_machine_says_how_many_it_keeps() -> None:
    """None stands for a machine whose setting cannot be read, as in a user's own network."""
    setting = Path("/proc/sys/net/ipv4/neigh/default/gc_thresh3")
    expected = int(setting.read_text()) if setting.exists() else None
    assert LOCAL.most_neighbours() == expected


def routers(count: int) -> Plan:
    """A ring of routers: each has two neighbours."""
    nodes = "\n".join(f"  r{n}: {{forwards: true}}" for n in range(count))
    links = "\n".join(f"  - {{between: [r{n}, r{(n + 1) % count}]}}" for n in range(count))
    text = f"lab: ring\nip: [4, 6]\nnodes:\n{nodes}\nlinks:\n{links}\n"
    return build(lab_from(parse(text, "ring.yaml")), KINDS, Rights(root=True))


def test_neighbours_of_a_large_lab_are_known_from_the_start() -> None:
    count = FEW // 2 + 1
    made = routers(count)
    known = [each for each in made.operations if isinstance(each, Resolved)]
    by_address = {
        address.split("/")[0]: each.mac
        for each in made.every_attachment
        for address in each.addresses
    }
    assert len(known) == 2 * 2 * count, "two neighbours, two IP versions"
    assert all(by_address[each.address] == each.mac for each in known)
    assert note_on_neighbours(made, Machine(room=8)) == []  # type: ignore[arg-type]
    assert not any(isinstance(each, Resolved) for each in routers(FEW // 2).operations)
