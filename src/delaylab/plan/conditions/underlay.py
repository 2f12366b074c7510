"""The network between machines as part of the delay of the links that it carries. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from delaylab.errors import DoesNotFit
from delaylab.plan.conditions.engine_links import EngineLink, Port
from delaylab.plan.kept import LinkUnderlay
from delaylab.plan.model import Agent, Plan
from delaylab.resolve.agent_names import AgentName
from delaylab.spec.conditions.engine import Conditions, DelayTrace
from delaylab.spec.this_machine import LOCAL_MACHINE

MEASUREMENTS = 3
"""The most measurements of a network before a link is refused as too short for it."""


@dataclass(frozen=True)
class RoundTrips:
    """Pings between two machines before a lab is up: how many, and the round trips in ns."""

    one: str
    other: str
    sent: int
    rtt_ns: tuple[int, ...]

    @property
    def words(self) -> str:
        """Return the machines with the least and the longest round trip, in words."""
        pair = f"{self.one} and {self.other}"
        if not self.rtt_ns:
            return f"{pair}: not known, pings are not answered"
        least, most = min(self.rtt_ns) / 1e6, max(self.rtt_ns) / 1e6
        return f"{pair}: {least:.3f} to {most:.3f} ms"

    @property
    def underlay(self) -> LinkUnderlay | None:
        """Return them as a network below links; None if no ping was answered."""
        if not self.rtt_ns:
            return None
        ordered = sorted(self.rtt_ns)
        median, p99 = (ordered[math.ceil(q * len(ordered)) - 1] for q in (0.5, 0.99))
        lost = max(0, self.sent - len(ordered))
        return LinkUnderlay(ordered[0] // 2, ordered[0], median, p99, self.sent, lost)


def measured_underlay(
    plan: Plan, measure: Callable[[], Sequence[RoundTrips]]
) -> tuple[Plan, Sequence[RoundTrips]]:
    """Measure the network between machines; return a plan over it, and the measurement.

    A machine that is busy for a moment makes that network look slow. So it is measured again if a
    link does not fit, and the last of the measurements decides.

    Raise DoesNotFit if a link does not fit in any of MEASUREMENTS measurements.
    """
    for _ in range(MEASUREMENTS - 1):
        measured = measure()
        with suppress(DoesNotFit):
            return over_underlay(plan, measured), measured
    measured = measure()
    return over_underlay(plan, measured), measured


def over_underlay(plan: Plan, measured: Iterable[RoundTrips]) -> Plan:
    """Return a plan in which the network between machines is part of its links' delays.

    That is so for links of two nodes on two machines, whose conditions delaylab's own engine
    carries. Of a link of more nodes each two may be on other machines, or on one; the kernel's
    engine delays frames as configured.

    Raise DoesNotFit if a link is to take less time than that network may need.
    """
    between = {frozenset((each.one, each.other)): each for each in measured}
    links: dict[str, LinkUnderlay] = {}
    below: dict[str, RoundTrips] = {}
    for name, ends in _pairs(plan):
        found = between.get(ends)
        if found is not None and found.underlay is not None:
            links[name], below[name] = found.underlay, found
    for name, conditions in _conditions(plan, links):
        _check(name, conditions, links[name], below[name])
    agents = tuple(_with_underlays(agent, links) for agent in plan.agents)
    return replace(plan, agents=agents, underlays=links)


def _pairs(plan: Plan) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the links of two nodes on two machines, each with its machines."""
    own = {AgentName(agent).of for agent, engine in plan.engines.items() if engine == "own"}
    for link in plan.conditioned:
        ends = plan.on_link(link)
        machines = frozenset(plan.machines.get(each.host, LOCAL_MACHINE) for each in ends)
        if len(ends) == len(machines) == 2 and {each.host for each in ends} <= own:
            yield link, machines


def _conditions(plan: Plan, links: Mapping[str, LinkUnderlay]) -> Iterator[tuple[str, Conditions]]:
    """Yield the conditions of what is sent over links, from the start and by the timeline."""
    for agent in plan.agents:
        if agent.links is None:
            continue
        for link in agent.links.links:
            if link.link in links:
                yield from ((link.link, port.conditions) for port in link.members if port.node)
        for moment in agent.links.timeline:
            yield from (
                (change.link, change.set)
                for change in moment.changes
                if change.link in links and not change.receives
            )


def _check(link: str, conditions: Conditions, underlay: LinkUnderlay, between: RoundTrips) -> None:
    """Raise DoesNotFit if a delay that a link states is shorter than the underlay's longest."""
    trace = conditions.trace
    stated = (
        min(delay for _, delay in trace.points)
        if isinstance(trace, DelayTrace)
        else conditions.delay_ns
    )
    # In the worst case all that a round trip takes over the least one is in one direction.
    longest_ns = underlay.p99_rtt_ns - underlay.delay_ns
    if not stated or stated >= longest_ns:
        return
    raise DoesNotFit(
        f"its delay of {stated / 1e6:.3f} ms is shorter than the network between machines "
        f"{between.one} and {between.other} takes, up to {longest_ns / 1e6:.3f} ms one way "
        f"(round trip {underlay.least_rtt_ns / 1e6:.3f} ms at least, p99 "
        f"{underlay.p99_rtt_ns / 1e6:.3f} ms)",
        f"link {link}",
        "give it a longer delay or none, or put its nodes on one machine",
    )


def _with_underlays(agent: Agent, links: Mapping[str, LinkUnderlay]) -> Agent:
    """Return an agent whose engine knows what the network between machines adds to its links."""
    carried = agent.links
    if carried is None or not any(link.link in links for link in carried.links):
        return agent
    changed = tuple(_over(link, links.get(link.link)) for link in carried.links)
    return replace(agent, links=replace(carried, links=changed))


def _over(link: EngineLink, underlay: LinkUnderlay | None) -> EngineLink:
    if underlay is None:
        return link
    members = (_earlier(port, underlay.delay_ns) for port in link.members)
    return replace(link, members=tuple(members))


def _earlier(port: Port, underlay_ns: int) -> Port:
    return port if port.node is None else replace(port, underlay_ns=underlay_ns)
