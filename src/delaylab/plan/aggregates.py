"""Fewest routes that send every packet as one route for each destination would. Pure.

A kernel takes some microseconds for each route, so that a million of them take longer than all else
of a large lab. Draves, King, Venkatachary and Zill, "Constructing optimal IP routing tables"
(INFOCOM 1999), show how to find the fewest prefixes. Addresses that nobody has may go anywhere.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Sets = NDArray[np.uint64]
"""For each table, a set of choices: bit i is choice i."""
ANY = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
"""The set of all choices, for a destination that a table needs no route to."""
MOST_CHOICES = 64


@dataclass(frozen=True)
class _Node:
    """A prefix of the tree: a destination, or the prefix that two subtrees have in common.

    `best` are the choices with which the subtree needs the fewest routes.
    """

    prefix: int
    length: int
    best: Sets
    children: tuple[_Node, ...] = ()


def aggregates(
    prefixes: Sequence[tuple[int, int]], choices: Sets, bits: int
) -> Iterator[tuple[int, int, Sets]]:
    """Yield the prefixes that need a route in some table, each with its choice in every table.

    `prefixes` are the destinations as first address and length; none is within another. `choices`
    is the set of choices for each destination (rows) in each table (columns). `bits` is the length
    of an address. A choice in the answer is a set with one bit; it is empty for a table that has no
    such route.
    """
    if not prefixes:
        return
    order = sorted(range(len(prefixes)), key=lambda at: prefixes[at])
    leaves = [_Node(*prefixes[at], choices[at]) for at in order]
    root = _tree(leaves, 0, len(leaves), bits)
    waiting = [(root, np.zeros(choices.shape[1], np.uint64))]
    while waiting:
        node, inherited = waiting.pop()
        unlike = (node.best & inherited) == 0
        # Where every choice will do there is nothing to send.
        needed = unlike & (node.best != ANY)
        first = node.best & (~node.best + np.uint64(1))
        if needed.any():
            yield node.prefix, node.length, np.where(needed, first, np.uint64(0))
        below = np.where(needed, first, inherited)
        waiting += [(child, below) for child in node.children]


def _tree(leaves: list[_Node], low: int, high: int, bits: int) -> _Node:
    """Return the tree of the leaves from `low` to `high`, which are in rising order."""
    if high - low == 1:
        return leaves[low]
    first, last = leaves[low].prefix, leaves[high - 1].prefix
    below = (first ^ last).bit_length()
    prefix = first >> below << below
    middle = bisect_left(leaves, prefix | 1 << below - 1, low, high, key=lambda leaf: leaf.prefix)
    left, right = _tree(leaves, low, middle, bits), _tree(leaves, middle, high, bits)
    both = left.best & right.best
    best = np.where(both != 0, both, left.best | right.best)
    return _Node(prefix, bits - below, best, (left, right))
