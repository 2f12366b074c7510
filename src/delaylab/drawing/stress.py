"""Places for the vertices of a graph: distances on the paper like those along the edges.

Stress majorization (Gansner, Koren, North 2004, Graph Drawing): each pair of vertices is to be as
far apart as its shortest path is long, near pairs above all. The same graph gets the same places.
Vertices whose places are known keep them; only the others look for a place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components, shortest_path

Floats = NDArray[np.float64]
Edge = tuple[int, int]
Place = tuple[float, float]
ROUNDS = 40
"""The rounds of improvement; more are not seen."""
TURNS = 30
"""The rounds in which the main axes are found."""
ENOUGH = 1e-4
"""The relative gain of a round below which the rest is left out."""
GAP = 1.5
"""The space between parts that no edge joins, in lengths of an edge."""
GOLDEN = 2.399963
"""The golden angle: vertices at one neighbour go in different directions."""


def places(count: int, edges: Iterable[Edge], known: Mapping[int, Place]) -> Floats:
    """Return a place for each vertex, one row each; an edge is about 1 long."""
    joined = sorted({(min(edge), max(edge)) for edge in edges if edge[0] != edge[1]})
    first, second = (np.array([edge[i] for edge in joined], dtype=np.intp) for i in (0, 1))
    graph = coo_matrix((np.ones(len(joined)), (first, second)), shape=(count, count)).tocsr()
    number, part_of = connected_components(graph, directed=False)
    found = np.zeros((count, 2))
    parts = [np.flatnonzero(part_of == part) for part in range(number)]
    new = []
    for part in parts:
        fixed = {i: known[int(each)] for i, each in enumerate(part) if int(each) in known}
        steps = shortest_path(graph[part][:, part], directed=False, unweighted=True)
        if fixed:
            found[part] = _among(steps, fixed)
        else:
            found[part] = _majorized(steps)
            new.append(part)
    taken = [part for part in parts if not any(part is each for each in new)]
    right = max((float(found[part][:, 0].max()) + GAP for part in taken), default=0.0)
    _pack(found, sorted(new, key=len, reverse=True), right)
    return found


def _majorized(steps: Floats) -> Floats:
    """Return places by the lengths of the shortest paths between all pairs."""
    n = len(steps)
    if n == 1:
        return np.zeros((1, 2))
    with np.errstate(divide="ignore"):
        weights = np.where(steps > 0, steps**-2.0, 0.0)
    at = _projected(steps)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    # The first vertex stays where it is: only differences of places count.
    factor = cho_factor(laplacian[1:, 1:])
    before = np.inf
    for _ in range(ROUNDS):
        far = _distances(at, at)
        stress = float(np.sum(weights * (far - steps) ** 2))
        if before - stress < ENOUGH * before:
            break
        before = stress
        with np.errstate(divide="ignore", invalid="ignore"):
            pull = np.where(far > 0, weights * steps / far, 0.0)
        target = (np.diag(pull.sum(axis=1)) - pull) @ at
        at = np.vstack([np.zeros((1, 2)), cho_solve(factor, target[1:])])
    return _upright(at - at.mean(axis=0))


def _projected(steps: Floats) -> Floats:
    """Return first places: the two main axes of the distances (classical scaling)."""
    n = len(steps)
    squares = steps**2
    centred = -0.5 * (
        squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    )
    # Orthogonal iteration needs no gap between the largest eigenvalues, which a star has not.
    angles = GOLDEN * np.arange(n)
    start = np.column_stack([np.cos(angles), np.sin(angles)])
    axes, _ = np.linalg.qr(start)
    for _ in range(TURNS):
        axes, _ = np.linalg.qr(centred @ axes)
    size = np.sqrt(np.maximum(np.einsum("ij,ij->j", axes, centred @ axes), 1e-9))
    # Vertices that no distance tells apart must not lie on each other.
    return np.asarray(axes * size + 0.01 * start)


def _upright(at: Floats) -> Floats:
    """Return places turned so that the widest direction is across."""
    _, axes = np.linalg.eigh(at.T @ at)
    turned = at @ axes[:, ::-1]
    return np.asarray(turned * np.where(turned[np.abs(turned).argmax(axis=0), (0, 1)] < 0, -1, 1))


def _among(steps: Floats, fixed: Mapping[int, Place]) -> Floats:
    """Return places where some are fixed: each other vertex near its neighbours, then improved."""
    at = np.zeros((len(steps), 2))
    placed = list(fixed)
    at[placed] = list(fixed.values())
    rest = [i for i in range(len(steps)) if i not in fixed]
    for i in sorted(rest, key=lambda i: (float(steps[i, list(fixed)].min()), i)):
        near = [each for each in placed if steps[i, each] == 1]
        turn = GOLDEN * i
        aside = 0.8 * np.array([np.cos(turn), np.sin(turn)]) / len(near)
        at[i] = at[near].mean(axis=0) + aside
        placed.append(i)
    for _ in range(ROUNDS // 2):
        for i in rest:
            others = steps[i] > 0
            weights, apart = steps[i, others] ** -2.0, at[i] - at[others]
            far = np.maximum(np.hypot(*apart.T), 1e-6)
            wanted = at[others] + apart * (steps[i, others] / far)[:, None]
            at[i] = (weights[:, None] * wanted).sum(axis=0) / weights.sum()
    return at


def _distances(ours: Floats, theirs: Floats) -> Floats:
    return np.hypot(*(ours[:, None, axis] - theirs[None, :, axis] for axis in (0, 1)))


def _pack(points: Floats, parts: Sequence[NDArray[np.intp]], right: float) -> None:
    """Move parts side by side, in rows that are about as wide as all are high."""
    area = sum(float(np.prod(np.ptp(points[part], axis=0) + GAP)) for part in parts)
    most = max(1.5 * area**0.5, *(float(np.ptp(points[part][:, 0])) for part in parts), 0.0) + right
    x, y, height = right, 0.0, 0.0
    for part in parts:
        wide, high = np.ptp(points[part], axis=0)
        if x > right and x + wide > most:
            x, y, height = right, y + height + GAP, 0.0
        points[part] += np.array([x, y]) - points[part].min(axis=0)
        x, height = x + wide + GAP, max(height, float(high))
