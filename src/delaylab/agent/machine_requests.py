"""Sessions with a machine that is reached by ssh: how they begin, and their largest answer."""

from __future__ import annotations

import json

from delaylab.agent.frames import MAX_PAYLOAD
from delaylab.agent.wire import machines as wire


class Labs(wire.Labs):
    """The request for the labs of this user that are up; the answer has the record of each."""

    largest = MAX_PAYLOAD


def opening(lab: str | None = None, agent: str | None = None, *, keeper: bool = False) -> bytes:
    """Return the first message of a session with a machine, which says what the session is with.

    It is with an agent of a lab, with the keeper of a new lab, or else with a new agent.
    """
    if lab is not None:
        return json.dumps({"agent": {"lab": lab, "agent": agent}}).encode()
    return json.dumps("keeper" if keeper else "session").encode()
