"""`delaylab` in which some agents change what they answer, by chance.

The agents are real. `HOSTILE_SEED` seeds the changes. `HOSTILE_AT` names the agent, `*` stands for
any; `HOSTILE_OPS` are the requests whose answers are changed, separated by commas. A table of them
is changed often, and `HOSTILE_OFTEN` is the share of messages that are.
"""

from __future__ import annotations

import json
import os
import random

from delaylab.__main__ import main
from delaylab.agent.frames import Frame, FrameKind
from delaylab.agent.session import Session
from tests.ground.hostile_agent import mutated, odd_answer


def changed(choose: random.Random, frame: Frame) -> Frame:
    """Return a frame with a table, or sometimes a message, that was changed."""
    payload = frame.payload
    if frame.kind == FrameKind.TABLE:
        payload = mutated(choose, payload) if choose.random() < 0.8 else payload
    elif frame.kind == FrameKind.MESSAGE and choose.random() < float(os.environ["HOSTILE_OFTEN"]):
        payload = json.dumps(odd_answer(choose, json.loads(payload))).encode()
    return Frame(frame.kind, payload, frame.channel)


def lie() -> None:
    """Change what comes from agents from now on."""
    honest, choose = Session._receive, random.Random(os.environ["HOSTILE_SEED"])
    liar, lies = os.environ["HOSTILE_AT"], os.environ["HOSTILE_OPS"].split(",")

    def receive(session: Session) -> list[Frame]:
        frames = honest(session)
        if session._op not in lies or liar not in ("*", session.label):
            return frames
        return [changed(choose, frame) for frame in frames]

    Session._receive = receive  # type: ignore[method-assign,assignment]


if __name__ == "__main__":
    lie()
    main()
