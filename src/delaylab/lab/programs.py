"""The files of nodes, and the programs that run as long as their nodes."""

from __future__ import annotations

import time
from collections.abc import Collection
from contextlib import suppress

from delaylab.agent.program_requests import (
    NodeFile,
    Output,
    Program,
    Programs,
    ProgramState,
    Start,
)
from delaylab.agent.result import AgentError
from delaylab.agent.session import Session
from delaylab.errors import DelaylabError
from delaylab.lab.running import Lab
from delaylab.plan.agent_names import node_agent

STATES_S = 5.0
"""Seconds that all nodes together have to report the state of their programs."""


def start_programs(lab: Lab) -> None:
    """Write the files of all nodes and start their programs; return once all are ready.

    Nodes start side by side, the programs of a node one after the other. Raises DelaylabError for
    the first node that cannot.
    """
    sessions: dict[str, Session] = {}
    for name, node in lab.spec.nodes.items():
        if node.files or node.start:
            sessions[name] = _start(lab, name)
    for name, session in sessions.items():
        try:
            session.finish()
        except AgentError as error:
            raise DelaylabError(error.what, f"node {name}", error.fix) from None
        session.close()


def _start(lab: Lab, name: str) -> Session:
    node, session = lab.spec.nodes[name], lab.node_session(name)
    session.start(
        Start(
            within=lab.plan.nodes[name].own_folders,
            files=[
                NodeFile(path, file.content, int(file.mode, 8), file.owner)
                for path, file in node.files.items()
            ],
            programs=[
                Program(
                    each.called,
                    each.argv,
                    {**node.env, **each.env},
                    each.ready,
                    each.timeout.ns // 1_000_000,
                )
                for each in node.start
            ],
        )
    )
    return session


def states(lab: Lab, gone: Collection[str] = ()) -> dict[str, list[ProgramState]]:
    """Return the state of the programs of each node that has some, and whose agent is not gone."""
    asked = {}
    for name, node in lab.plan.nodes.items():
        if node.programs and node_agent(name) not in gone:
            session = lab.node_session(name)
            asked[name] = session, session.start(Programs())
    found = {}
    deadline = time.monotonic() + STATES_S
    for name, (session, result) in asked.items():
        # A node that does not answer is shown as dead, and has no state of programs.
        with suppress(AgentError):
            session.finish(max(0.0, deadline - time.monotonic()))
            found[name] = result.done.programs
        session.close()
    return found


def output(lab: Lab, node: str, program: str) -> bytes:
    """Return the kept output of a program: its last one to two MiB."""
    session = lab.node_session(node)
    result = session.start(Output(name=program))
    session.finish()
    session.close()
    return result.stdout
