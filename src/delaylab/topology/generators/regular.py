"""Regular networks: ring, line, star, grid, torus, fat tree, leaf and spine."""

from __future__ import annotations

from itertools import product

from delaylab.topology.generators.sketch import RADIUS, Sketch, numbered

STEP = 50.0
"""The distance of neighbours in a grid and of layers in a tree."""


def ring(nodes: int) -> Sketch:
    """Make a ring of routers."""
    sketch = Sketch()
    names = sketch.circle(numbered("r", nodes))
    for one, other in zip(names, [*names[1:], names[0]], strict=True):
        sketch.link(one, other)
    return sketch


def line(nodes: int) -> Sketch:
    """Make a line of routers."""
    return grid(1, nodes, "r{column}")


def star(leaves: int) -> Sketch:
    """Make a router with nodes around it."""
    sketch = Sketch()
    sketch.node("core", 0, 0)
    for name in sketch.circle(numbered("h", leaves)):
        place, _ = sketch.nodes[name]
        sketch.nodes[name] = (place, False)
        sketch.link("core", name)
    return sketch


def grid(rows: int, columns: int, name: str = "r{row}-{column}") -> Sketch:
    """Make a grid of routers, each joined to its neighbours in its row and column."""
    return _grid(rows, columns, name, around=False)


def torus(rows: int, columns: int) -> Sketch:
    """Make a grid whose rows and columns are rings."""
    return _grid(rows, columns, "r{row}-{column}", around=True)


def _grid(rows: int, columns: int, name: str, *, around: bool) -> Sketch:
    sketch = Sketch()

    def at(row: int, column: int) -> str:
        return name.format(row=row % rows + 1, column=column % columns + 1)

    for row, column in product(range(rows), range(columns)):
        sketch.node(at(row, column), column * STEP, row * STEP)
    for row, column in product(range(rows), range(columns)):
        if column + 1 < columns or around:
            sketch.link(at(row, column), at(row, column + 1))
        if row + 1 < rows or around:
            sketch.link(at(row, column), at(row + 1, column))
    return sketch


def fat_tree(k: int) -> Sketch:
    """Make a fat tree of switches with `k` ports: `k` pods, `k³/4` hosts."""
    sketch, half = Sketch(), k // 2
    wide = k * half * half * STEP
    cores = numbered("core", half * half)
    for index, core in enumerate(cores):
        sketch.node(core, (index + 0.5) * wide / len(cores), 0)
    for pod in range(1, k + 1):
        left = (pod - 1) * wide / k
        uppers, lowers = (
            [f"{word}{pod}-{i}" for i in range(1, half + 1)] for word in ("agg", "edge")
        )
        for index, upper in enumerate(uppers):
            sketch.node(upper, left + (index + 0.5) * wide / k / half, STEP * 2)
            for core in cores[index * half : (index + 1) * half]:
                sketch.link(core, upper)
        for index, lower in enumerate(lowers):
            sketch.node(lower, left + (index + 0.5) * wide / k / half, STEP * 4)
            for upper in uppers:
                sketch.link(upper, lower)
            for place in range(half):
                host = f"h{pod}-{index + 1}-{place + 1}"
                x = left + (index * half + place + 0.5) * STEP
                sketch.link(lower, sketch.node(host, x, STEP * 5, router=False))
    return sketch


def leaf_spine(leaves: int, spines: int, hosts: int) -> Sketch:
    """Make leaf switches that are each joined to every spine, with hosts at each leaf."""
    sketch = Sketch()
    wide = max(leaves * max(hosts, 1), spines) * STEP
    for index, spine in enumerate(numbered("spine", spines)):
        sketch.node(spine, (index + 0.5) * wide / spines, 0)
    for index, leaf in enumerate(numbered("leaf", leaves)):
        sketch.node(leaf, (index + 0.5) * wide / leaves, RADIUS)
        for spine in numbered("spine", spines):
            sketch.link(spine, leaf)
        for place in range(hosts):
            x = (index + (place + 0.5) / hosts) * wide / leaves
            host = sketch.node(f"h{index + 1}-{place + 1}", x, RADIUS + STEP, router=False)
            sketch.link(leaf, host)
    return sketch
