"""Routes of large labs, which are found for all pairs at once."""

from __future__ import annotations

import ipaddress
import json
import sys
import tracemalloc
from importlib import import_module
from typing import Any

import pytest
import yaml

from delaylab.errors import BadInput
from delaylab.plan.model import Route
from delaylab.plan.routes import many as many_routes
from delaylab.plan.routes import next_hops
from delaylab.plan.routes.networks import Table
from delaylab.resolve.addresses import POOL4
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


def grid(side: int, *, addresses: str = "names", step: float = 1.5) -> str:
    """Return a grid of routers in Europe, a degree and a half apart."""
    nodes = {
        f"r{x}-{y}": {
            "forwards": True,
            "at": {"longitude": x * step - 5, "latitude": 40 + y * step / 2},
        }
        for x in range(side)
        for y in range(side)
    }
    links = [
        {"between": [f"r{x}-{y}", other], "cost": 3 + (x * 7 + y * 5) % 4}
        for x in range(side)
        for y in range(side)
        for other in (f"r{x + 1}-{y}", f"r{x}-{y + 1}")
        if other in nodes
    ]
    return json.dumps({"lab": "grid", "addresses": addresses, "nodes": nodes, "links": links})


def routes_of(text: str) -> list[Route]:
    return [each for each in planned(text)[1].operations if isinstance(each, Route)]


def test_the_routes_are_the_same_however_many_stacks_are_worked_on_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = routes_of(grid(13))
    monkeypatch.setattr(many_routes, "AT_A_TIME", 1000)
    assert routes_of(grid(13)) == whole


@pytest.mark.parametrize("multipath", [False, True])
@pytest.mark.parametrize("costs", ["of-links", "alike"])
def test_the_routes_are_the_same_with_and_without_scipy(
    costs: str, multipath: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = json.loads(grid(13))
    for link in lab["links"] if costs == "alike" else ():
        del link["cost"]
    # Another part, which is out of reach, and a host with a choice of routers.
    lab["nodes"] |= {"s1": {"forwards": True}, "s2": {"forwards": True}, "h": {}}
    lab["links"] += [{"between": ["s1", "s2"]}, {"join": ["h", "r0-0", "r1-1"], "name": "lan"}]
    text = json.dumps(lab | {"multipath": multipath})
    monkeypatch.setattr(next_hops, "QUICK_FROM", 0)
    quick = routes_of(text)
    monkeypatch.setattr(next_hops, "has", {"scipy": False}.__getitem__)
    assert "delaylab.plan.routes.quick_costs" in sys.modules
    assert routes_of(text) == quick


@pytest.mark.parametrize("scipy", [True, False])
def test_few_bytes_are_held_for_each_pair_of_a_router_and_a_network(
    scipy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four of them are the cost from the router to the network; the rest are routes."""
    monkeypatch.setattr(next_hops, "QUICK_FROM", 0)
    monkeypatch.setattr(next_hops, "has", {"scipy": scipy}.__getitem__)
    import_module("delaylab.plan.routes.quick_costs")  # its own bytes are not of the pairs
    side = 16
    pairs = side**2 * (2 * side * (side - 1) + side**2)
    monkeypatch.setattr(many_routes, "AT_A_TIME", pairs // 50)
    tables, peaks = many_routes.tables, list[int]()

    def measured(*given: Any, **named: Any) -> dict[str, Table]:
        tracemalloc.start()
        try:
            found = tables(*given, **named)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
        return found

    monkeypatch.setattr(many_routes, "tables", measured)
    planned(grid(side))
    assert len(peaks) == 1
    assert peaks[0] / pairs < 16


def test_addresses_by_place_need_fewer_routes() -> None:
    by_name, by_place = (
        sum(len(route.to) for route in routes_of(grid(13, addresses=by)))
        for by in ("names", "places")
    )
    assert by_place < by_name / 2


def test_a_network_of_the_file_is_reached_over_the_same_router_as_others() -> None:
    given_link = {"between": ["r1", "r2"], "addresses": {"r1": "10.7.0.1/24", "r2": "10.7.0.2/24"}}
    lab = yaml.safe_load(line(120))
    lab["links"][1] = given_link
    first = [route for route in routes_of(json.dumps(lab)) if route.agent == "node.r0"]
    assert [len(route.via) for route in first] == [1]
    assert {"10.7.0.0/24"} < {*first[0].to}
    assert any(ipaddress.ip_network(to).overlaps(POOL4) for to in first[0].to)
