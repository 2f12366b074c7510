"""The reports of a running lab's link engines."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict

from delaylab.agent.requests import R_co, Request
from delaylab.agent.result import AgentError, Result
from delaylab.agent.session import Session
from delaylab.agent.wire.links import LinkPace, Links
from delaylab.errors import BadInput
from delaylab.io.side_by_side import side_by_side
from delaylab.lab.running import LiveLab
from delaylab.records.links import Direction, EngineReport, Underlay
from delaylab.resolve.agent_names import AgentName

PATIENCE_S = 30.0
"""Seconds that all engines together have to answer."""
LARGE = 100
"""The fewest routers of a lab whose engines are eased."""


def agents(lab: LiveLab) -> list[str]:
    """Return the agents of a lab that carry links with conditions."""
    return list(lab.plan.engines)


def reports(
    lab: LiveLab, *, reset: bool = False, within_s: float = PATIENCE_S
) -> list[EngineReport]:
    """Return every engine's report on itself and its links; `reset` then restarts its counters.

    An engine that does not answer is reported as `down`, with the reason; its links carry nothing.
    All engines together have `within_s` seconds.
    """
    asked: dict[str, tuple[Session, Result[EngineReport]] | AgentError] = {}
    for agent in agents(lab):
        try:
            session = lab.session(agent)
            asked[agent] = session, session.start(Links(reset=reset))
        except AgentError as error:
            asked[agent] = error
    # All engines are asked before any answer is awaited, so several that hang cost one wait.
    asked_s = time.monotonic()
    found = {agent: _answer(agent, answer, within_s, asked_s) for agent, answer in asked.items()}
    pids = side_by_side(lambda each: _pid(lab, *each), found.items())
    return [
        _report(lab, agent, report, pid)
        for (agent, report), pid in zip(found.items(), pids, strict=True)
    ]


def _pid(lab: LiveLab, agent: str, report: EngineReport) -> int | None:
    """Return the pid on its machine of an engine, which knows only its pid in the lab."""
    if not report.running or report.pid is None:
        return None
    return lab.machine_of(agent).child(lab.pid(agent), report.pid)


def _answer(
    agent: str,
    asked: tuple[Session, Result[EngineReport]] | AgentError,
    within_s: float,
    asked_s: float,
) -> EngineReport:
    """Return what an engine says of itself, or that it is down."""
    host = AgentName(agent).of
    if isinstance(asked, AgentError):
        return EngineReport(host=host, state="down", why=str(asked))
    session, result = asked
    try:
        session.finish(within_s, since_s=asked_s)
        found = result.done
    except AgentError as error:
        found = EngineReport(host=host, state="down", why=str(error))
    finally:
        session.close()
    return found


def _report(lab: LiveLab, agent: str, report: EngineReport, pid: int | None) -> EngineReport:
    """Return a report with what this machine knows of the engine and of its links' ends."""
    host = AgentName(agent).of
    known: dict[str, object] = {"host": host, "agent": agent, "engine": lab.plan.engines[agent]}
    if report.running:
        known["pid"] = pid
        for each in report.directions:
            each.complete(nodes=_behind(lab, host, each), underlay=_underlay(lab, each))
    return report.model_copy(update=known)


def _underlay(lab: LiveLab, direction: Direction) -> Underlay | None:
    """Return the network below a link between two machines, if it is part of the link's delay."""
    if direction.short is None:
        return None
    found = lab.plan.underlays.get(direction.link)
    return None if found is None else Underlay(**asdict(found))


def _behind(lab: LiveLab, host: str, direction: Direction) -> list[str]:
    """Return all nodes behind a port.

    The engine itself knows only the first of several nodes that share a network stack.
    """
    on_link = lab.plan.on_link(direction.link)
    return [each.node for each in on_link if (each.host, each.port) == (host, direction.port)]


def call(lab: LiveLab, agent: str, request: Request[R_co]) -> R_co:
    """Ask a link engine's agent in a session of its own."""
    session = lab.session(agent)
    try:
        return session.call(request).done
    finally:
        session.close()


@contextmanager
def eased(lab: LiveLab) -> Iterator[None]:
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


def check_conditioned(lab: LiveLab, link: str) -> None:
    """Raise BadInput if a lab has no such link with conditions."""
    if link not in lab.plan.conditioned:
        what = f"lab {lab.name!r} has no link {link!r} with conditions"
        known = ", ".join(lab.plan.conditioned)
        raise BadInput(
            what, fix=f"one of: {known}" if known else "give a link conditions in the lab file"
        )
