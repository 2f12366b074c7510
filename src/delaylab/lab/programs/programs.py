"""The programs that run as long as their nodes."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, count
from typing import TYPE_CHECKING

from delaylab.agent.result import AgentError
from delaylab.agent.session import Session
from delaylab.agent.wire.programs import (
    Control,
    ControlDone,
    EndProgram,
    Output,
    Program,
    Programs,
    ProgramsDone,
    ProgramState,
    Schedule,
    Scheduled,
    ScheduledDone,
    Start,
    TimedDeed,
)
from delaylab.agent.wire.words import Deed
from delaylab.errors import DelaylabError
from delaylab.lab.programs.folders import folder_of, with_programs
from delaylab.lab.running import LiveLab
from delaylab.resolve.agent_names import node_agent

if TYPE_CHECKING:
    from delaylab.spec.programs import ProgramSpec
    from delaylab.units import Duration

STATES_S = 5.0
"""Seconds that all nodes together have to report the state of their programs."""
OUTPUT_S = 30.0
"""Seconds that an agent has to send the kept output of a program."""
STARTED_S = 300.0
"""Seconds that an agent has, beyond its programs' own time, to start them: many agents of a large
lab do so at once."""
ENDED_S = 20.0
"""Seconds that an agent has, beyond a program's own time, to say that it ended it."""


def start(lab: LiveLab, node: str, spec: ProgramSpec) -> str:
    """Start a program in a node, and return its name once it is ready.

    A name that is taken gets a number. Raises DelaylabError if it cannot be started.
    """
    found, known = lab.planned(node), states(lab, only={node}).get(node)
    if known is None:
        raise AgentError("does not answer", f"node {node}")
    taken = {each.name for each in known}
    names = (f"{spec.called}{number}" for number in chain([""], count(2)))
    program = replace(program_of(spec, found.env), name=next(n for n in names if n not in taken))
    session = lab.node_session(node)
    try:
        session.start(Start(programs=[program], folder=folder_of(lab, node)))
        session.finish(starts_s([program]))
    except AgentError as error:
        raise DelaylabError(error.what, f"node {node}", error.fix) from None
    finally:
        session.close()
    return program.name


def end(lab: LiveLab, node: str, program: str, timeout: Duration) -> ProgramState:
    """End a program of a node, by force after `timeout`; return its state."""
    session = lab.node_session(node)
    try:
        request = EndProgram(
            name=program, folder=folder_of(lab, node), within_ms=timeout.ns // 1_000_000
        )
        return session.call(request, timeout.ns / 1e9 + ENDED_S).done.program
    finally:
        session.close()


def program_of(spec: ProgramSpec, env: Mapping[str, str]) -> Program:
    """Return a program of a lab file as its agent starts it; `env` are its node's variables."""
    return Program(
        spec.called,
        spec.argv,
        {**env, **spec.env},
        spec.ready,
        spec.timeout.ns // 1_000_000,
    )


def starts_s(programs: Iterable[Program]) -> float:
    """Return the seconds in which an agent has started programs, or said why it could not."""
    return sum(each.within_ms for each in programs) / 1000 + STARTED_S


def control(lab: LiveLab, node: str, do: Deed, names: Sequence[str] = ()) -> ControlDone:
    """Freeze, continue, kill or start again programs of a node, or all of the node.

    Raises DelaylabError for a name that no program has, and for one that does not start.
    """
    session = lab.node_session(node)
    try:
        return session.call(Control(do=do, names=names, folder=folder_of(lab, node))).done
    except AgentError as error:
        raise DelaylabError(error.what, f"node {node}", error.fix) from None
    finally:
        session.close()


def schedule(lab: LiveLab, orders: Mapping[str, Sequence[TimedDeed]]) -> None:
    """Order things to be done to programs of these nodes, by time, in place of earlier orders.

    Their agents see to it; nobody has to wait. Times are by the nodes' own clocks.
    """
    sessions: dict[str, Session] = {}
    try:
        for node, wanted in orders.items():
            sessions[node] = session = lab.node_session(node)
            session.start(Schedule(orders=wanted, folder=folder_of(lab, node)))
        for node, session in sessions.items():
            try:
                session.finish(STATES_S)
            except AgentError as error:
                raise DelaylabError(error.what, f"node {node}", error.fix) from None
    finally:
        for session in sessions.values():
            session.close()


def scheduled(lab: LiveLab, nodes: Iterable[str], within_s: float) -> dict[str, ScheduledDone]:
    """Return what these nodes' agents did of their orders, once all is done or a time is over."""
    found = {}
    asked = {}
    for node in nodes:
        session = lab.node_session(node)
        request = Scheduled(within_ms=int(within_s * 1000), folder=folder_of(lab, node))
        asked[node] = session, session.start(request)
    for node, (session, result) in asked.items():
        session.finish(within_s + STATES_S)
        found[node] = result.done
        session.close()
    return found


def states(
    lab: LiveLab, gone: Collection[str] = (), only: Collection[str] | None = None
) -> dict[str, list[ProgramState]]:
    """Return the state of the programs of each node, as `node_states` does."""
    return {name: found.programs for name, found in node_states(lab, gone, only).items()}


def node_states(
    lab: LiveLab, gone: Collection[str] = (), only: Collection[str] | None = None
) -> dict[str, ProgramsDone]:
    """Return the state of each node that may have programs, or of these nodes `only`.

    Nodes whose agent is `gone` are left out.
    """
    asked = {}
    for name in with_programs(lab) if only is None else only:
        if node_agent(name) not in gone:
            session = lab.node_session(name)
            asked[name] = session, session.start(Programs(folder=folder_of(lab, name)))
    found = {}
    asked_s = time.monotonic()
    for name, (session, result) in asked.items():
        # A node that does not answer is shown as dead, and has no state of programs.
        with suppress(AgentError):
            session.finish(STATES_S, since_s=asked_s)
            found[name] = result.done
        session.close()
    return found


def output(lab: LiveLab, node: str, program: str) -> bytes:
    """Return the kept output of a program: its last one to two MiB."""
    session = lab.node_session(node)
    try:
        result = session.start(Output(name=program, folder=folder_of(lab, node)))
        session.finish(OUTPUT_S)
    finally:
        session.close()
    return result.stdout
