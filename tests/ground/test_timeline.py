"""Events in a lab's timeline: how a file says them, and what each makes of links and programs."""

from __future__ import annotations

import pytest

from delaylab.errors import BadInput
from delaylab.resolve.lab import Lab, Order
from delaylab.resolve.load import lab_from
from delaylab.spec.source import parse
from delaylab.spec.timeline.model import ChangeSpec
from tests.ground.timelines import changes_of_links

LAB = """
lab: x
nodes:
  r: {forwards: true, count: 3, start: [{run: [sleep, inf], name: nap}]}
  hub: {}
links:
  - {between: [r-1, r-2], name: north}
  - {between: [r-2, r-3], name: east, delay: 5ms}
  - {between: [r, hub], name: spoke}
  - {join: [r, hub], name: lan}
timeline: [TIMELINE]
"""
SECOND = 10**9


def lab(timeline: str) -> Lab:
    return lab_from(parse(LAB.replace("TIMELINE", timeline), "lab.yaml"))


def states(found: list[ChangeSpec]) -> list[tuple[float, str, str | None, str | None]]:
    return [(each.at.ns / SECOND, each.link, each.node, each.conditions.state) for each in found]


def test_links_go_down_at_both_ends_and_come_back() -> None:
    found = lab("{at: 1s, down: [north, spoke]}, {at: 2s, up: north}")
    assert states(changes_of_links(found)) == [
        *((1, "north", node, "down") for node in ("r-1", "r-2")),
        *((1, f"spoke-{n}", node, "down") for n in (1, 2, 3) for node in (f"r-{n}", "hub")),
        *((2, "north", node, "up") for node in ("r-1", "r-2")),
    ]
    assert {name for name, link in found.links.items() if link.conditioned} == {
        "north",
        "east",
        "spoke-1",
        "spoke-2",
        "spoke-3",
    }
    assert not found.counts_from_ready


def test_a_flap_is_down_for_its_time() -> None:
    found = lab("{at: 1s, flap: north, for: 200ms}, {at: 3s, flap: east}")
    ends = [each for each in states(changes_of_links(found)) if each[2] in ("r-1", "r-3")]
    assert ends == [
        (1, "north", "r-1", "down"),
        (1.2, "north", "r-1", "up"),
        (3, "east", "r-3", "down"),
        (4, "east", "r-3", "up"),
    ]


def test_a_silent_link_keeps_its_carrier() -> None:
    assert {each[3] for each in states(changes_of_links(lab("{at: 0s, silence: east}")))} == {
        "silent"
    }


def test_a_killed_node_takes_its_cables_down_at_both_ends() -> None:
    """On a switch the others keep their carrier."""
    found = lab("{at: 1s, kill: r-1}, {at: 2s, start: r-1}")
    first, second = found.steps
    cables = {("r-1", "north"), ("r-2", "north"), ("r-1", "spoke-1"), ("hub", "spoke-1")}
    assert first.ends == dict.fromkeys({*cables, ("r-1", "lan")}, "down")
    assert first.dead == {"r-1"}
    assert first.orders == (Order(SECOND, "r-1", "kill"),)
    assert second.ends == {}
    assert second.orders == (Order(2 * SECOND, "r-1", "start"),)
    assert found.counts_from_ready


def test_a_cable_stays_down_until_both_ends_have_power_and_the_link_is_up() -> None:
    found = lab(
        "{at: 1s, kill: [r-1, r-2]}, {at: 2s, start: r-1}, {at: 3s, down: north}, "
        "{at: 4s, start: r-2}, {at: 5s, up: north}"
    )
    of_north = [each.ends.get(("r-1", "north")) for each in found.steps]
    assert of_north == ["down", "down", "down", "down", None]


def test_a_stopped_node_is_silent_and_goes_on() -> None:
    found = lab("{at: 1s, stop: r-3}, {at: 2s, start: r-3}, {at: 3s, restart: r-3, for: 500ms}")
    frozen, _, _, _ = found.steps
    assert frozen.ends == dict.fromkeys(
        [("r-3", "east"), ("r-3", "spoke-3"), ("r-3", "lan")], "silent"
    )
    assert [(each.at_ns / SECOND, each.do) for step in found.steps for each in step.orders] == [
        (1, "freeze"),
        (2, "continue"),
        (3, "kill"),
        (3.5, "start"),
    ]


def test_an_event_of_a_program_leaves_links_alone() -> None:
    found = lab("{at: 1s, kill: r, programs: [nap]}, {at: 2s, start: r-2, programs: [nap]}")
    first, second = found.steps
    assert [(each.node, each.do, each.programs) for each in first.orders] == [
        (f"r-{n}", "kill", ("nap",)) for n in (1, 2, 3)
    ]
    assert not first.changes
    assert second.not_running == {("r-1", "nap"), ("r-3", "nap")}


def test_events_of_one_time_are_one_step() -> None:
    found = lab("{at: 1s, kill: r-1}, {at: 1s, down: east}, {at: 1s, link: lan, set: {delay: 1ms}}")
    (step,) = found.steps
    assert step.events == (0, 1)
    assert {change.link for change in step.changes} == {"north", "spoke-1", "east", "lan"}


@pytest.mark.parametrize(
    ("timeline", "line"),
    [
        ("{at: 1s, down: west}", "no link 'west' (links: north, east, spoke, lan)"),
        ("{at: 1s, kill: r-9}", "no node 'r-9' (nodes: r, hub)"),
        ("{at: 1s, start: r-1}", "`start` of node 'r-1', which runs"),
        ("{at: 1s, kill: hub}, {at: 2s, kill: hub}", "`kill` of node 'hub', which is dead already"),
        ("{at: 1s, kill: hub}, {at: 2s, stop: hub}", "`stop` of node 'hub', which does not run"),
        (
            "{at: 1s, kill: r-1}, {at: 2s, kill: r-1, programs: [nap]}",
            "`kill` of program 'nap' of node 'r-1', which does not run",
        ),
        (
            "{at: 1s, start: r-1, programs: [nap]}",
            "`start` of program 'nap' of node 'r-1', which runs",
        ),
        ("{at: 1s, down: north, kill: hub}", "a moment is `link` with `set`, or exactly one of"),
        ("{at: 1s}", "a moment is `link` with `set`, or exactly one of"),
        ("{at: 1s, down: north, for: 1s}", "only `flap` and `restart` may have `for`"),
        ("{at: 1s, flap: north, for: 0s}", "`for` is more than 0"),
        ("{at: 1s, down: north, programs: [nap]}", "only `stop`, `kill`, `start` and `restart`"),
        ("{at: 1s, link: north, set: {delay: 1ms}, for: 1s}", "only `flap` and `restart` may"),
        ("{at: 1s, down: []}", "down: expected at least 1 of them"),
        ("{at: 1s, kil: hub}", "kil"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(timeline: str, line: str) -> None:
    with pytest.raises(BadInput) as found:
        lab(timeline)
    said = str(found.value)
    assert line in said
    assert said.startswith("lab.yaml")
    assert "\n" not in said


def test_a_program_that_its_node_does_not_have_is_refused() -> None:
    from tests.ground.test_plan import planned  # noqa: PLC0415

    with pytest.raises(BadInput, match=r"node 'hub' has no program 'ospfd' \(its programs: none\)"):
        planned(LAB.replace("TIMELINE", "{at: 1s, kill: hub, programs: [ospfd]}"))


COSTS = """
lab: costs
routing: {ospf: {}}
nodes: {r: {forwards: true, count: 2}, s: {forwards: true}, h: {}}
links:
  - {between: [r, s], name: a}
  - {join: [r-1, s, h], name: lan, cost: 3}
timeline:
  - {at: 1s, cost: {a: 10}}
  - {at: 2s, cost: {lan: {r-1: 5, s: 6}}}
"""


def test_costs_of_a_timeline_are_told_at_each_end() -> None:
    first, second = lab_from(parse(COSTS, "lab.yaml")).steps
    told = {(each.node, each.link): each.cost for each in first.told}
    assert told == {("r-1", "a-1"): 10, ("s", "a-1"): 10, ("r-2", "a-2"): 10, ("s", "a-2"): 10}
    assert {(each.node, each.link, each.cost) for each in second.told} == {
        ("r-1", "lan", 5),
        ("s", "lan", 6),
    }
    assert second.costs == {**told, ("r-1", "lan"): 5, ("s", "lan"): 6}
    assert (second.events, second.at_ns) == ((1,), 2_000_000_000)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("cost: {a: 10}", "cost: {x: 10}"), "lab.yaml:9: no link 'x' (links: a"),
        (("cost: {a: 10}", "cost: {a: 0}"), "lab.yaml:9: "),
        (
            ("cost: {a: 10}", "cost: {a: {h: 4}}"),
            "lab.yaml:9: 'h' is not on link 'a' (members: r, s)",
        ),
        (("cost: {a: 10}", "cost: {a: 10}, for: 1s"), "lab.yaml:9: "),
        (
            ("cost: {a: 10}", "cost: {a: 10}, down: a"),
            "exactly one of down, silence, up, flap, cost",
        ),
        (("{ospf: {}}", "{bgp: {}}"), "lab.yaml:9: `cost` needs daemons of OSPF or IS-IS"),
    ],
)
def test_a_cost_that_cannot_change_is_refused_with_its_line(
    change: tuple[str, str], told: str
) -> None:
    with pytest.raises(BadInput) as caught:
        lab_from(parse(COSTS.replace(*change), "lab.yaml"))
    assert told in str(caught.value)
    assert "\n" not in str(caught.value).partition(" (")[0]
