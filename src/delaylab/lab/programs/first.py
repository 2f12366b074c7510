"""The files of a new lab's nodes, and the programs that start with their nodes."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import replace

from delaylab.agent.result import AgentError
from delaylab.agent.session import Session
from delaylab.agent.wire.programs import NodeFile, Notify, Start
from delaylab.errors import DelaylabError
from delaylab.lab.programs import lacking
from delaylab.lab.programs.programs import STARTED_S, program_of, starts_s
from delaylab.lab.running import LiveLab
from delaylab.routing.node_programs import NodePrograms


def start_programs(lab: LiveLab, daemons: Mapping[str, NodePrograms]) -> None:
    """Write the files of all nodes and start their programs; return once all are ready.

    Nodes start side by side, the programs of a node one after the other, its routing daemons first.
    Daemons that ignore routes get no netlink notification until `resume_notifications`. Raises
    DelaylabError for the first node that cannot.
    """
    asked: dict[str, tuple[Session, float, NodePrograms]] = {}
    for name, node in lab.spec.nodes.items():
        made = daemons.get(name, NodePrograms())
        files, programs = {**made.files, **node.files}, [*made.programs, *node.start]
        if files or programs:
            given = replace(made, files=files, programs=programs)
            asked[name] = *_start(lab, name, given), given
    since_s = time.monotonic()
    for name, (session, within_s, given) in asked.items():
        try:
            session.finish(within_s, since_s=since_s)
        except AgentError as error:
            raise _failed(error, name, given) from None
        session.close()


def _failed(error: AgentError, node: str, given: NodePrograms) -> DelaylabError:
    """Return the error of a program that did not start, with what its node lacks if it says so."""
    what, fix = error.what + _line_of(error.what, given), error.fix
    lacked = lacking.why(error.what)
    if lacked and lacked[0]:
        which, _, _ = error.what.partition(": ")
        what = f"{which}: {lacked[0]}"
    return DelaylabError(what, f"node {node}", lacked[1] if lacked and not fix else fix)


def _line_of(message: str, given: NodePrograms) -> str:
    """Return the line of a node's file that a message names as `PATH:NUMBER`, if it names one."""
    for path, file in given.files.items():
        found = re.search(rf"{re.escape(path)}:(\d+)\b", message)
        lines = file.content.splitlines()
        if found and 0 < int(found[1]) <= len(lines):
            return f": `{lines[int(found[1]) - 1].strip()}`"
    return ""


def resume_notifications(lab: LiveLab, daemons: Mapping[str, NodePrograms]) -> None:
    """Have the kernel notify daemons that ignore routes of changes to links and addresses.

    Until their routes are right they get no notification. For each change of a route the kernel
    looks at every socket that gets any, in all network namespaces (`netlink_broadcast`), which was
    most of the work of 852 routers. Raises AgentError for a node that is gone.
    """
    asked: list[Session] = []
    for name, made in daemons.items():
        if made.ignoring_routes:
            session = lab.node_session(name)
            asked.append(session)
            session.start(Notify())
    asked_s = time.monotonic()
    for session in asked:
        session.finish(STARTED_S, since_s=asked_s)
        session.close()


def _start(lab: LiveLab, name: str, given: NodePrograms) -> tuple[Session, float]:
    """Ask a node's agent to start its programs; return the session, and in how many seconds."""
    node, session = lab.spec.nodes[name], lab.node_session(name)
    programs = [
        replace(
            program_of(program, node.env),
            needs=given.needs.get(program.called),
            ignores_routes=program.called in given.ignoring_routes,
        )
        for program in given.programs
    ]
    session.start(
        Start(
            within=lab.plan.nodes[name].own_folders,
            files=[
                NodeFile(path, file.content, int(file.mode, 8), file.owner)
                for path, file in given.files.items()
            ],
            programs=programs,
            notify_later=bool(given.ignoring_routes),
        )
    )
    return session, starts_s(programs)
