"""The least costs from routers to links, by scipy: quick also for thousands of routers. Pure."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

from delaylab.plan.routes.costs import NEVER, OUT_OF_REACH, Choices, Routers


class QuickCosts:
    """The costs as a matrix: a router's are a row, those to a link a column."""

    def __init__(self, routers: Routers, at_a_time: int) -> None:
        count = len(routers.near)
        edges = [(one, other) for one, near in enumerate(routers.near) for other in near]
        ends = np.array(edges, int).reshape(-1, 2).T
        costs = [cost for near in routers.near for cost in near.values()]
        graph = csr_matrix((costs, (ends[0], ends[1])), shape=(count, count))
        self._least = np.full((count, len(routers.on)), NEVER, np.int32)
        reached = np.array([at for at, on in enumerate(routers.on) if on], int)
        flat = np.array([each for on in routers.on for each in on], int)
        lengths = np.array([len(on) for on in routers.on if on], int)
        starts = np.cumsum(lengths) - lengths
        rows = max(1, at_a_time // max(len(flat), 1))
        for first in range(0, count if reached.size else 0, rows):
            some = np.arange(first, min(first + rows, count))
            between = np.minimum(dijkstra(graph, indices=some), NEVER).astype(np.int32)
            self._least[some[:, None], reached] = np.minimum.reduceat(
                between[:, flat], starts, axis=1
            )

    def choices(self, gateways: Sequence[tuple[int, int]], *, multipath: bool) -> Choices:
        """Return the best of some gateways to each link, as `PathCosts` says."""
        if not gateways:
            return [], array("i", [OUT_OF_REACH]) * self._least.shape[1]
        costs = self._least[[router for router, _ in gateways]]
        costs += np.array([[cost] for _, cost in gateways], np.int32)
        least = costs.min(axis=0)
        if multipath:
            sets, best = _sets(costs == least)
        else:
            sets, best = [(at,) for at in range(len(gateways))], costs.argmin(axis=0)
        found = np.where(least >= NEVER, OUT_OF_REACH, best + 1).astype(np.int32)
        return sets, array("i", found.tobytes())


def _sets(equal: NDArray[np.bool_]) -> tuple[list[tuple[int, ...]], NDArray[np.int64]]:
    """Return the different columns of `equal` as sets of places, and which each column is."""
    packed = np.ascontiguousarray(np.packbits(equal, axis=0).T)
    columns = packed.view(np.dtype((np.void, packed.shape[1]))).reshape(-1)
    _, first, which = np.unique(columns, return_index=True, return_inverse=True)
    sets = [tuple(np.flatnonzero(equal[:, column]).tolist()) for column in first]
    return sets, which.reshape(-1)
