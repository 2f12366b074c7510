"""The reports of a running lab's link engines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict

from delaylab.agent.link_requests import LinkPace, Links
from delaylab.agent.requests import R_co, Request
from delaylab.agent.result import AgentError
from delaylab.dataset.records.links import Direction, EngineReport, Underlay
from delaylab.errors import BadInput
from delaylab.lab.running import Lab

LARGE = 100
"""The fewest routers of a lab whose engines are eased."""


def agents(lab: Lab) -> list[str]:
    """Return the agents of a lab that carry links with conditions."""
    return list(lab.plan.engines)


def reports(lab: Lab, *, reset: bool = False) -> list[EngineReport]:
    """Return every engine's report on itself and its links; `reset` then restarts its counters.

    An engine that does not answer is reported as `down`, with the reason; its links carry nothing.
    """
    return [_report(lab, agent, reset=reset) for agent in agents(lab)]


def _report(lab: Lab, agent: str, *, reset: bool) -> EngineReport:
    host = agent.removeprefix("link.")
    try:
        found: EngineReport = call(lab, agent, Links(reset=reset))
    except AgentError as error:
        found = EngineReport(host=host, state="down", why=str(error))
    known: dict[str, object] = {"host": host, "agent": agent, "engine": lab.plan.engines[agent]}
    if found.running:
        inside = found.pid
        known["pid"] = (
            None if inside is None else lab.machine_of(agent).child(lab.pid(agent), inside)
        )
        for each in found.directions:
            each.complete(nodes=_behind(lab, host, each), underlay=_underlay(lab, each))
    return found.model_copy(update=known)


def _underlay(lab: Lab, direction: Direction) -> Underlay | None:
    """Return the network below a link between two machines, if it is part of the link's delay."""
    if direction.short is None:
        return None
    found = lab.plan.underlays.get(direction.link)
    return None if found is None else Underlay(**asdict(found))


def _behind(lab: Lab, host: str, direction: Direction) -> list[str]:
    """Return all nodes behind a port.

    The engine itself knows only the first of several nodes that share a network stack.
    """
    on_link = lab.plan.on_link(direction.link)
    return [each.node for each in on_link if (each.host, each.port) == (host, direction.port)]


def call(lab: Lab, agent: str, request: Request[R_co]) -> R_co:
    """Ask a link engine's agent in a session of its own."""
    session = lab.session(agent)
    try:
        return session.call(request).done
    finally:
        session.close()


@contextmanager
def eased(lab: Lab) -> Iterator[None]:
    """Let frames of a large lab be up to a millisecond late while its routers find their routes.

    An engine that is on time would take a third of the CPU time that 852 routers need. At the end
    the engines are on time again, and their counts begin anew. If an error ends the block, the
    engines stay eased: the lab is then taken down.
    """
    large = sum(spec.forwards for spec in lab.spec.nodes.values()) >= LARGE
    for agent in agents(lab) if large else ():
        call(lab, agent, LinkPace(eased=True))
    yield
    for agent in agents(lab) if large else ():
        call(lab, agent, LinkPace(eased=False))
    if large:
        reports(lab, reset=True)


def check_conditioned(lab: Lab, link: str) -> None:
    """Raise BadInput if a lab has no such link with conditions."""
    if link not in lab.plan.conditioned:
        what = f"lab {lab.name!r} has no link {link!r} with conditions"
        known = ", ".join(lab.plan.conditioned)
        raise BadInput(
            what, fix=f"one of: {known}" if known else "give a link conditions in the lab file"
        )
