"""Routes of large labs, which are found for all pairs at once."""

from __future__ import annotations

import pytest

from delaylab.errors import BadInput
from delaylab.plan import many_routes
from tests.ground.test_routers import planned


def line(routers: int) -> str:
    nodes = ", ".join(f"r{number}: {{forwards: true}}" for number in range(routers))
    links = ", ".join(f"{{between: [r{at}, r{at + 1}]}}" for at in range(routers - 1))
    return f"lab: line\nnodes: {{{nodes}}}\nlinks: [{links}]\n"


def test_a_lab_with_too_many_pairs_for_its_routes_is_refused_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The limit counts a network for each link and for each router's loopback."""
    routers = 150
    text = line(routers)
    networks = routers - 1 + routers
    monkeypatch.setattr(many_routes, "MOST", routers * networks)
    planned(text)
    monkeypatch.setattr(many_routes, "MOST", routers * networks - 1)
    with pytest.raises(BadInput) as refused:
        planned(text)
    assert refused.value.what == f"{routers} routers need routes to {networks} networks each"
    assert "routes: none" in refused.value.fix
    planned(f"{text}routes: none\n")
