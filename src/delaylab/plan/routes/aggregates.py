"""Fewest routes that send every packet as one route for each destination would. Pure.

A kernel takes some microseconds for each route, so that a million of them take longer than all else
of a large lab. Draves, King, Venkatachary and Zill, "Constructing optimal IP routing tables"
(INFOCOM 1999), show how to find the fewest prefixes. Addresses that nobody has may go anywhere.

Many tables are worked out at once: a whole number has a bit for each of them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import reduce
from operator import or_

MOST_CHOICES = 63
"""The most choices of a table."""
ANY = 0
"""The choice of a destination that a table needs no route to: any other one will do."""
Planes = list[int]
"""For each choice, from `ANY` on, the tables that may take it, as bits.

A table that may take `ANY` may take every choice."""
_BITS = [bytes(b"01"[each in (ANY, choice)] for each in range(256)) for choice in range(256)]
"""For each choice: a translation of choices to digits, 1 where it is open."""


def planes(choices: bytes, most: int) -> Planes:
    """Return the choices of a destination, one for each table, the last table's first, as planes.

    They are at most `most`.
    """
    there = {*choices, ANY}
    any_ = int(choices.translate(_BITS[ANY]), 2)
    return [
        int(choices.translate(_BITS[choice]), 2) if choice in there else any_
        for choice in range(most + 1)
    ]


class Tree:
    """The tree of some destinations: each is a leaf, and two subtrees have a prefix in common.

    `prefixes` has the first address and the length of every node, the destinations first, in rising
    order; both children of a node come before it.
    """

    def __init__(self, destinations: Sequence[tuple[int, int]], bits: int) -> None:
        """Make the tree. No destination is within another; `bits` is the length of an address."""
        self.order = sorted(range(len(destinations)), key=lambda at: destinations[at])
        """The number of each leaf's destination."""
        self.prefixes = [destinations[at] for at in self.order]
        self._bits = bits
        self._children: list[tuple[int, int]] = []
        if destinations:
            self._join(0, len(destinations))

    def _join(self, low: int, high: int) -> int:
        """Make the tree of the leaves from `low` to `high`; return its node."""
        if high - low == 1:
            return low
        first, last = self.prefixes[low][0], self.prefixes[high - 1][0]
        below = (first ^ last).bit_length()
        prefix = first >> below << below
        middle = bisect_left(self.prefixes, (prefix | 1 << below - 1, 0), low, high)
        children = self._join(low, middle), self._join(middle, high)
        self.prefixes.append((prefix, self._bits - below))
        self._children.append(children)
        return len(self.prefixes) - 1

    def routes(self, choices: Sequence[Planes]) -> Iterator[tuple[int, int, int]]:
        """Yield the fewest routes of some tables, by prefix (its node) and choice.

        The third of each is the tables that have this route, as bits. `choices` are those of each
        leaf.
        """
        best = [*choices]
        for left, right in self._children:
            one, other = best[left], best[right]
            both = [*map(int.__and__, one, other)]
            alike = reduce(or_, both)
            best.append([b | (a | o) & ~alike for b, a, o in zip(both, one, other, strict=True)])
        inherited = [[0] * len(each) for each in best]
        for node in reversed(range(len(best))):
            here, above = best[node], inherited[node]
            # Where every choice will do there is nothing to send.
            served = reduce(or_, map(int.__and__, here, above), here[ANY])
            new, open_ = [0], ~served
            for choice in range(1, len(here)):
                new.append(here[choice] & open_)
                open_ &= ~here[choice]
                if new[choice]:
                    yield node, choice, new[choice]
            if node >= len(self.order):
                below = [n | a & served for n, a in zip(new, above, strict=True)]
                for child in self._children[node - len(self.order)]:
                    inherited[child] = below


def ones(number: int) -> Iterator[int]:
    """Yield the places of the ones of a number."""
    digits = bin(number)[:1:-1]
    at = digits.find("1")
    while at >= 0:
        yield at
        at = digits.find("1", at + 1)
