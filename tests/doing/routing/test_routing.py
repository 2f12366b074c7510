"""Routing daemons: `up` returns when all tables are right, and `converge` sees what breaks."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

import pytest

from delaylab.api.maps import import_map
from delaylab.errors import DelaylabError
from delaylab.forwarding.expected import expected_tables
from delaylab.forwarding.tables import differences
from delaylab.forwarding.topology import Faults
from delaylab.lab.links import link_engines
from delaylab.lab.routing import converged
from delaylab.lab.routing.observer import Observer, observing
from delaylab.lab.routing.routers import adjacencies
from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary
from delaylab.plan.routed_topology import topology
from delaylab.resolve.load import lab_from
from delaylab.routing import router
from delaylab.spec.source import parse
from delaylab.units import Duration
from delaylab.verbs.converge import Break, converge
from tests.doing.conftest import Run, as_json, our_processes
from tests.doing.routing.observed import everywhere, said

pytestmark = pytest.mark.root
RING = """
lab: ring
ip: [4, 6]
routing: {ospf: {hello: 1s, dead: 4s}, by: DAEMON}
nodes:
  r: {forwards: true, count: 4}
  h: {}
links:
  - {between: [r-1, r-2], name: a, state: up}
  - {between: [r-2, r-3], name: b, state: up}
  - {between: [r-3, r-4], name: c, state: up}
  - {between: [r-4, r-1], name: d, state: up}
  - {between: [h, r-1], name: edge}
"""
TIMEOUT = Duration.parse("60s")


def ring(daemon: str, *change: tuple[str, str]) -> str:
    text = RING.replace("DAEMON", daemon)
    for one, other in change:
        assert one in text
        text = text.replace(one, other)
    return text


@pytest.mark.parametrize("daemon", ["frr", "bird"])
def test_up_returns_when_every_table_is_right(daemon: str) -> None:
    """The kernel's tables as `ip` shows them are those of the shortest paths, both of each two."""
    # FRR 8.4's OSPFv3 keeps stale prefixes of links for long after a change.
    own = [("ip: [4, 6]", "ip: [4]")] if daemon == "frr" else []
    with temporary(lab_from(parse(ring(daemon, *own), "ring.yaml"))) as lab:
        assert lab.converged is not None
        assert lab.converged.routers == 4
        wanted = expected_tables(topology(lab.spec, lab.plan))
        assert differences(wanted, everywhere(lab)) == []
        assert any(len(hops) == 2 for hops in wanted["r-1"].values())
        down, up = converge(lab, [Break("down", ("a",)), Break("up", ("a",))], TIMEOUT).outcomes
        assert down.right_ns is not None
        assert up.right_ns is not None
        assert down.effect.routers.keys() == {"r-1", "r-2", "r-3", "r-4"}
        assert down.event_ns <= (down.detected_ns or 0) <= down.right_ns
        assert all(each.end_ns is not None for each in (*down.holes, *down.loops))
        assert differences(wanted, everywhere(lab)) == [], "as at first"


def test_of_many_routers_a_few_are_observed_before_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sockets that hear of routes cost at every change of one, so most come late."""
    asked: list[Sequence[str] | None] = []
    observed_ns = 0

    def noted(lab: LiveLab, only: Sequence[str] | None = None) -> AbstractContextManager[Observer]:
        nonlocal observed_ns
        asked.append(only)
        observed_ns = time.time_ns()
        return observing(lab, only=only)

    monkeypatch.setattr(converged, "MANY", 4)
    monkeypatch.setattr(converged, "FEW", 2)
    monkeypatch.setattr(converged, "observing", noted)
    monkeypatch.setattr(link_engines, "LARGE", 4)
    with temporary(lab_from(parse(ring("bird"), "ring.yaml"))) as lab:
        assert asked == [["r-1", "r-3"], None]
        (engine,) = link_engines.reports(lab)
        assert (engine.since_ns or 0) > observed_ns, "links are on time again, and count anew"
        assert lab.converged is not None
        assert lab.converged.routers == 4
        wanted = expected_tables(topology(lab.spec, lab.plan))
        assert differences(wanted, everywhere(lab)) == []


def test_all_routers_are_observed_while_a_few_rest_with_wrong_routes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`up` returns when all are right, whenever it begins to observe them."""
    wrong: list[int] = []

    def noted(lab: LiveLab, only: Sequence[str] | None = None) -> AbstractContextManager[Observer]:
        wanted = expected_tables(topology(lab.spec, lab.plan))
        wrong.append(len(differences(wanted, everywhere(lab))))
        return observing(lab, only=only)

    monkeypatch.setattr(converged, "MANY", 4)
    monkeypatch.setattr(converged, "FEW", 2)
    monkeypatch.setattr(converged, "NEARLY", 2)
    monkeypatch.setattr(converged, "LOOK_EVERY_S", 0.01)
    monkeypatch.setattr(converged, "observing", noted)
    with temporary(lab_from(parse(ring("bird"), "ring.yaml"))) as lab:
        assert len(wrong) == 2
        assert wrong[1] > 0, "no route has come by then"
        wanted = expected_tables(topology(lab.spec, lab.plan))
        assert differences(wanted, everywhere(lab)) == []


def test_routers_of_a_large_lab_print_events_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(router, "MANY", 4)
    with temporary(lab_from(parse(ring("bird", ("ip: [4, 6]", "ip: [4]")), "ring.yaml"))) as lab:
        assert list(adjacencies(lab)) == []
        converge(lab, [Break("silent", ("a",))], TIMEOUT)
        assert {node for _, node, _ in adjacencies(lab)} == {"r-1", "r-2"}


OF_ROUTES = 1 << 6 | 1 << 10
"""RTNLGRP_IPV4_ROUTE and RTNLGRP_IPV6_ROUTE of linux/rtnetlink.h."""
OF_LINKS = 1 << 0


def groups_of(lab: LiveLab, node: str) -> int:
    """Return the groups of routing netlink that sockets of a node are in, as bits."""
    rows = [row.split() for row in said(lab, node, "cat", "/proc/net/netlink").splitlines()]
    return reduce(or_, [int(row[3], 16) for row in rows[1:] if row[1] == "0"], 0)


@pytest.mark.parametrize("many", [5, pytest.param(4, marks=pytest.mark.slow)])
def test_bird_of_a_large_lab_is_not_told_of_the_routes_that_it_sets(
    many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until all routes are right it gets no notification, and then those about links."""
    meanwhile: list[int] = []
    wait = converged.converged

    def noted(lab: LiveLab, *given: Any) -> Any:
        meanwhile.append(groups_of(lab, "r-2"))  # r-1 and r-3 are observed
        return wait(lab, *given)

    monkeypatch.setattr(router, "MANY", many)
    monkeypatch.setattr(converged, "MANY", 4)
    monkeypatch.setattr(converged, "FEW", 2)
    monkeypatch.setattr(converged, "converged", noted)
    with temporary(lab_from(parse(ring("bird"), "ring.yaml"))) as lab:
        (while_waiting,) = meanwhile
        assert bool(while_waiting & (OF_LINKS | OF_ROUTES)) == (many == 5)
        assert groups_of(lab, "r-2") & OF_LINKS
        assert bool(groups_of(lab, "r-2") & OF_ROUTES) == (many == 5)
        down, _, start = converge(
            lab, [Break("down", ("a",)), Break("kill", ("r-2",)), Break("start", ("r-2",))], TIMEOUT
        ).outcomes
        assert down.right_ns is not None
        assert start.right_ns is not None
        assert start.outages is not None
        # A router that starts is without service until it has routes.
        ends = [each.end_ns for each in start.outages if each.source == "r-2"]
        assert start.event_ns < max(at_ns or 0 for at_ns in ends) <= start.right_ns
        assert groups_of(lab, "r-2") & OF_LINKS
        assert bool(groups_of(lab, "r-2") & OF_ROUTES) == (many == 5)


@pytest.mark.slow
def test_852_routers_converge() -> None:
    """All tables of a map of Europe are right with BIRD, each router's loopback announced."""
    timers = "hello: 2s, dead: 20s, spf_hold: 4s"
    routing = f"{{by: bird, ospf: {{{timers}, prefix_suppression: true}}, timeout: 10min}}"
    text = import_map("topohub:backbone/europe").text
    with temporary(lab_from(parse(f"{text}\nrouting: {routing}\n", "europe.yaml"))) as lab:
        assert lab.converged is not None
        assert lab.converged.routers == 852


def test_routers_whose_links_are_not_announced_reach_each_other_by_loopbacks() -> None:
    """The tables have no link but one's own, also after a failure; replies go to loopbacks."""
    text = ring("bird", ("dead: 4s", "dead: 4s, prefix_suppression: true"))
    with temporary(lab_from(parse(text, "ring.yaml"))) as lab:
        wanted = expected_tables(topology(lab.spec, lab.plan))
        assert differences(wanted, everywhere(lab)) == []
        (down,) = converge(lab, [Break("down", ("b",))], TIMEOUT).outcomes
        assert down.right_ns is not None
        for version in (4, 6):
            found = lab.plan.nodes["r-3"].loopback(version)
            assert found is not None
            # The request comes from an address that r-3 has a route to, or no answer comes.
            said(lab, "r-2", "ping", "-c", "1", "-W", "5", found)


def test_what_a_silent_link_and_a_dead_router_do_is_seen(delaylab: Run, tmp_path: Path) -> None:
    """BGP, which is quick to start: a session ends 3 s after the last message."""
    file = tmp_path / "ring.yaml"
    quick = "bgp: {keepalive: 1s, hold: 3s}"
    file.write_text(ring("frr", ("ip: [4, 6]", "ip: [4]"), ("ospf: {hello: 1s, dead: 4s}", quick)))
    said = as_json(delaylab("up", str(file), "--json"))
    assert said["routing"]["routers"] == 4
    silent, up, kill = as_json(
        delaylab("converge", "ring", "--silence", "b", "--up", "b", "--kill", "r-3", "--json")
    )
    assert 1.5 < silent["right_s"] < 30, "3 s after a message that came up to 1 s before"
    assert silent["detected_s"] <= silent["right_s"]
    holes = {node for hole in silent["black_holes"] for node in hole["nodes"]}
    assert holes == {"r-2", "r-3"}, "packets vanish at both ends of the link"
    assert min(hole["begin_s"] for hole in silent["black_holes"]) == 0
    assert up["right_s"] is not None
    assert kill["right_s"] < silent["right_s"], "the carrier tells at once"
    assert "r-3" not in {node for hole in kill["black_holes"] for node in hole["nodes"]}
    assert {each["state"] for each in silent["states"]} >= {"wrong"}
    assert 0 < silent["ways"]["changed"] <= silent["ways"]["pairs"] == 20
    page, picture = tmp_path / "start.html", tmp_path / "start.png"
    files = ("--html", str(page), "--png", str(picture))
    shown = delaylab("converge", "ring", "--start", "r-3", *files).stdout
    assert "all tables right" in shown
    assert "start r-3" in page.read_text()
    assert picture.read_bytes().startswith(b"\x89PNG")
    late = delaylab("converge", "ring", "--silence", "b", "--timeout", "100ms", code=1).stdout
    assert re.search(r"not in time: \d+ routes are wrong.* r-\d: 198", " ".join(late.split()))
    refused = delaylab("converge", "ring", "--down", "a", code=2)
    assert "routes are wrong" in refused.stderr
    (mended,) = as_json(delaylab("converge", "ring", "--up", "b", "--json"))
    assert mended["right_s"] is not None, "what mends the lab is not refused"
    unnamed = delaylab("converge", "ring", "--svg", "x.svg", code=2)
    assert "there is no event to draw" in unnamed.stderr
    nowhere = delaylab("converge", "ring", "--start", "r-3", "--svg", "/nowhere/x.svg", code=2)
    assert "there is no folder '/nowhere'" in nowhere.stderr
    again = delaylab("converge", "ring", "--down", "nowhere", code=2)
    assert "no link 'nowhere'" in again.stderr
    delaylab("down", "ring")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            ("by: frr", "by: bird, added: 'nonsense;'"),
            "bird: it ended with exit code 1 before it was",
        ),
        (
            ("by: frr", "by: frr, timeout: 100ms"),
            "the tables were not right in time: ",
        ),
    ],
)
def test_routers_that_do_not_get_ready_are_named(
    change: tuple[str, str], told: str, run_directory: Path
) -> None:
    text = ring("frr", change)
    with pytest.raises(DelaylabError) as caught, temporary(lab_from(parse(text, "ring.yaml"))):
        pass
    assert told in str(caught.value)
    assert list(run_directory.iterdir()) == []
    assert our_processes(str(run_directory)) == []


def test_a_daemon_that_dies_while_routes_are_awaited_is_named() -> None:
    dies = "start: [{run: 'sleep 0.2; kill $(cat /run/frr/ospfd.pid); sleep inf', name: killer}]"
    text = ring("frr", ("count: 4", f"count: 4, {dies}"), ("ip: [4, 6]", "ip: [4]"))
    with (
        pytest.raises(DelaylabError, match=r"program ospfd of node r-\d ended"),
        temporary(lab_from(parse(text, "ring.yaml"))),
    ):
        pass


def test_a_network_with_a_fault_from_the_start_is_right_without_it() -> None:
    text = ring("bird", ("name: a, state: up", "name: a, state: down"), ("ip: [4, 6]", "ip: [4]"))
    with temporary(lab_from(parse(text, "ring.yaml"))) as lab:
        wanted = expected_tables(
            topology(lab.spec, lab.plan), Faults(down={("r-1", "a"), ("r-2", "a")})
        )
        assert differences(wanted, everywhere(lab)) == []
