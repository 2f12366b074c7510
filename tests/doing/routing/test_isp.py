"""A provider of 87 routers with OSPF: right from the start, and after each of many failures."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import delaylab
from delaylab.lab.start import temporary
from delaylab.resolve.lab import Lab
from delaylab.resolve.resolve import resolve
from delaylab.spec.routing.model import RoutingSpec
from delaylab.units import Duration
from delaylab.verbs.converge import Break, converge

pytestmark = [pytest.mark.root, pytest.mark.slow]
AS1755 = Path(__file__).parents[3] / "examples" / "as1755"
LINKS, ROUTERS, SEED = 20, 5, 1755
TIMEOUT = Duration.parse("120s")


def with_ospf(lab: Lab) -> Lab:
    fast = RoutingSpec.model_validate({"ospf": {"hello": "1s", "dead": "4s", "retransmit": "1s"}})
    return resolve(lab.written.model_copy(update={"routing": fast}))


def test_tables_are_right_after_each_of_many_failures() -> None:
    lab = with_ospf(delaylab.import_map(AS1755).lab)
    drawn = random.Random(SEED)
    links = drawn.sample(list(lab.links), LINKS)
    routers = drawn.sample(sorted(lab.nodes), ROUTERS)
    events = [Break(do, (link,)) for link in links for do in ("down", "up")]
    events += [Break(do, (router,)) for router in routers for do in ("kill", "start")]
    with temporary(lab) as running:
        assert running.converged is not None
        assert running.converged.routers == len(lab.nodes)
        found = converge(running, events, TIMEOUT).outcomes
    assert [each.event for each in found if each.right_ns is None] == []
    assert len(found) == 2 * (LINKS + ROUTERS)
