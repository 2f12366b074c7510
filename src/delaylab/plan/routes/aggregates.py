"""Fewest routes that send every packet as one route for each destination would. Pure.

A kernel takes some microseconds for each route, so that a million of them take longer than all else
of a large lab. Draves, King, Venkatachary and Zill, "Constructing optimal IP routing tables"
(INFOCOM 1999), show how to find the fewest prefixes. Addresses that nobody has may go anywhere.

Many tables are worked out at once: a row of numpy's is a prefix, a column a table.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Sets = NDArray[np.unsignedinteger]
"""Sets of choices: bit i is choice i."""
MOST_CHOICES = 63
"""The most choices of a table. A set of all bits is kept for "any choice"."""
WIDTHS = (np.uint8, np.uint16, np.uint32, np.uint64)


def sets(choices: NDArray[np.integer], most: int) -> Sets:
    """Return each choice below `most` as a set in the fewest bits; all bits for a negative one.

    A negative one is a destination that a table needs no route to: any choice will do.
    """
    width = next(each for each in WIDTHS if most < np.iinfo(each).bits)
    bits = width(1) << np.maximum(choices, 0).astype(width)
    return np.where(choices < 0, np.iinfo(width).max, bits).astype(width, copy=False)


@dataclass(frozen=True)
class Routes:
    """Routes of many tables: each of a prefix (its number in the tree), a table and a choice."""

    prefix: NDArray[np.intp]
    table: NDArray[np.intp]
    choice: NDArray[np.intp]


class Tree:
    """The tree of some destinations: each is a leaf, and two subtrees have a prefix in common.

    `prefixes` has the first address and the length of every node, the destinations first, in rising
    order.
    """

    def __init__(self, destinations: Sequence[tuple[int, int]], bits: int) -> None:
        """Make the tree. No destination is within another; `bits` is the length of an address."""
        self.order = sorted(range(len(destinations)), key=lambda at: destinations[at])
        """The number of each leaf's destination."""
        self.prefixes = [destinations[at] for at in self.order]
        self._bits = bits
        self._children: list[tuple[int, int]] = []
        self._levels: dict[int, list[int]] = defaultdict(list)
        """Height above the lowest leaf -> the inner nodes there."""
        self._root, _ = self._join(0, len(destinations)) if destinations else (0, 0)

    def _join(self, low: int, high: int) -> tuple[int, int]:
        """Make the tree of the leaves from `low` to `high`; return its node and its height."""
        if high - low == 1:
            return low, 0
        first, last = self.prefixes[low][0], self.prefixes[high - 1][0]
        below = (first ^ last).bit_length()
        prefix = first >> below << below
        middle = bisect_left(self.prefixes, (prefix | 1 << below - 1, 0), low, high)
        (left, one), (right, other) = self._join(low, middle), self._join(middle, high)
        self.prefixes.append((prefix, self._bits - below))
        self._children.append((left, right))
        height = max(one, other) + 1
        self._levels[height].append(len(self.prefixes) - 1)
        return len(self.prefixes) - 1, height

    def routes(self, choices: Sets) -> Routes:
        """Return the fewest routes of some tables.

        `choices` is the set of choices for each leaf (rows) in each table (columns).
        """
        best = self._best(choices)
        every = np.iinfo(best.dtype).max
        inherited = np.zeros_like(best)
        found: list[Routes] = []
        for nodes in [*reversed(self._inner()), np.arange(len(self.order))]:
            here, above = best[nodes], inherited[nodes]
            # Where every choice will do there is nothing to send.
            needed = ((here & above) == 0) & (here != every)
            first = here & (~here + here.dtype.type(1))
            row, table = np.nonzero(needed)
            choice = np.frexp(first[row, table].astype(np.float64))[1] - 1
            found.append(Routes(nodes[row], table, choice.astype(np.intp)))
            if nodes[0] >= len(self.order):
                below = np.where(needed, first, above)
                for children in self._of(nodes):
                    inherited[children] = below
        return Routes(
            *(
                np.concatenate([getattr(each, name) for each in found])
                for name in ("prefix", "table", "choice")
            )
        )

    def _best(self, choices: Sets) -> Sets:
        """Return for each node the choices with which its subtree needs the fewest routes."""
        best = np.empty((len(self.prefixes), choices.shape[1]), choices.dtype)
        best[: len(choices)] = choices
        for nodes in self._inner():
            left, right = (best[children] for children in self._of(nodes))
            both = left & right
            best[nodes] = np.where(both != 0, both, left | right)
        return best

    def _inner(self) -> list[NDArray[np.intp]]:
        """Return the inner nodes, level by level from the leaves up."""
        return [np.array(self._levels[height]) for height in sorted(self._levels)]

    def _of(self, nodes: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the left and the right children of inner nodes."""
        both = np.array(self._children)[nodes - len(self.order)]
        return both[:, 0], both[:, 1]
