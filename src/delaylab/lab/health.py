"""Detection of dead agents in a running lab, by asking each of them."""

from __future__ import annotations

import time

from delaylab.agent.result import AgentError
from delaylab.agent.session import Session
from delaylab.agent.wire.sessions import Hello
from delaylab.lab.running import LiveLab

PATIENCE_S = 5.0
"""Seconds that all agents in guests together have to answer."""


def dead(lab: LiveLab) -> dict[str, str]:
    """Return the dead agents of a lab, each with the reason.

    The agent that stands for a guest also counts as dead if the agent inside does not answer.
    """
    found = dict.fromkeys(lab.ended(), "its process has ended")
    sessions: dict[str, Session] = {}
    for agent in lab.plan.guests:
        if agent in found or lab.is_lost(agent):
            continue
        try:
            session = lab.session(agent)
            session.start(Hello())
            sessions[agent] = session
        except AgentError as error:
            found[agent] = error.what
    # All agents are asked before any answer is awaited, so several that hang cost one wait in
    # total.
    asked_s = time.monotonic()
    for agent, session in sessions.items():
        try:
            session.finish(PATIENCE_S, since_s=asked_s)
        except AgentError as error:
            found[agent] = error.what
        session.close()
    return {agent: found[agent] for agent in _agents(lab) if agent in found}


def _agents(lab: LiveLab) -> list[str]:
    return list(lab.keeper.agents)
