"""Imported labs of many routers on the earth get addresses by place."""

from __future__ import annotations

import pytest

from delaylab.plan.routes import least_cost
from delaylab.topology.lab import MANY
from tests.topology.maps import of_text, spec


def test_such_labs_are_those_whose_routes_are_made_one() -> None:
    assert MANY == least_cost.AGGREGATED_FROM


def zoo(nodes: int, coordinates: str) -> str:
    """Return a ring of routers as GraphML; `coordinates` are the names of two keys."""
    first, second = coordinates.split()
    keys = "".join(
        f'<key attr.name="{name}" attr.type="double" for="node" id="{name}" />'
        for name in (first, second)
    )
    points = "".join(
        f'<node id="{n}"><data key="{first}">{n / 10}</data>'
        f'<data key="{second}">{40 + n / 10}</data></node>'
        for n in range(nodes)
    )
    edges = "".join(f'<edge source="{n}" target="{(n + 1) % nodes}" />' for n in range(nodes))
    head = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    return f'{head}{keys}<graph edgedefault="undirected">{points}{edges}</graph></graphml>'


@pytest.mark.parametrize(
    ("nodes", "coordinates", "by"),
    [
        (MANY, "Longitude Latitude", "places"),
        (MANY - 1, "Longitude Latitude", "names"),
        (MANY, "x y", "names"),
    ],
)
def test_many_routers_on_the_earth_get_addresses_by_place(
    nodes: int, coordinates: str, by: str
) -> None:
    made = of_text(zoo(nodes, coordinates))
    assert spec(made).addresses_by == by
    assert any("addresses follow" in line for line in made.assumptions) == (by == "places")
