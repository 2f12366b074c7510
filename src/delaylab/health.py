"""Which agents of a running lab are dead: asked, not remembered."""

from __future__ import annotations

import time

from delaylab.lab import Lab
from delaylab.wireline import AgentError, Session

PATIENCE_S = 5.0
"""How long an agent in a container or a machine may take to say that it is there."""


def dead(lab: Lab) -> dict[str, str]:
    """Return the agents of a lab that are dead, each with the reason.

    An agent beside its guest is dead, too, if the agent inside does not answer.
    """
    found = {agent: "its process has ended" for agent in _agents(lab) if not lab.is_alive(agent)}
    asked: dict[str, Session] = {}
    for agent in _guests(lab):
        if agent in found:
            continue
        try:
            session = lab.session(agent)
            session.start("hello")
            asked[agent] = session
        except AgentError as error:
            found[agent] = error.what
    # Side by side: one that hangs costs the patience once, not for each after it.
    deadline = time.monotonic() + PATIENCE_S
    for agent, session in asked.items():
        try:
            session.finish(max(0.0, deadline - time.monotonic()))
        except AgentError as error:
            found[agent] = error.what
        session.close()
    return {agent: found[agent] for agent in _agents(lab) if agent in found}


def _agents(lab: Lab) -> list[str]:
    return list(lab.keeper["agents"])


def _guests(lab: Lab) -> list[str]:
    guests = (agent for agent in lab.plan.agents if agent.guest is not None)
    return [agent.name for agent in guests if agent.guest and agent.guest.reach != "nothing"]
