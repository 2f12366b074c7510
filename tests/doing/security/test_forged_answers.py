"""The agent of a node lies in a real trial: it ends with one line that names the node."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from delaylab.agent.frames import Frame, FrameKind
from delaylab.agent.result import AgentError
from delaylab.agent.session import Session
from delaylab.resolve.resolve import lab_from_data
from delaylab_study.study_file.combine import Combination
from delaylab_study.study_file.probe import ProbeSpec
from tests.doing.conftest import measured

pytestmark = pytest.mark.root
Forge = Callable[[str, Frame], Frame]
LIAR = "node.echo"


def trial() -> Combination:
    lab = {
        "lab": "forged",
        "nodes": {"probe": {}, "echo": {}},
        "links": [{"join": ["probe", "echo"]}],
    }
    probe = {"from": "probe", "to": "echo", "protocol": "udp", "count": 10, "interval": "1ms"}
    return Combination(
        {},
        lab_from_data(lab),
        (),
        ProbeSpec.model_validate(probe | {"at_rest": 0, "late": "200ms"}),
    )


def lying(monkeypatch: pytest.MonkeyPatch, forge: Forge) -> None:
    """Have the agent of one node send what `forge` makes of its answers to each operation."""
    honest = Session._receive

    def receive(session: Session) -> list[Frame]:
        frames = honest(session)
        if session.label != LIAR:
            return frames
        return [forge(session._op, frame) for frame in frames]

    monkeypatch.setattr(Session, "_receive", receive)


def answers(op: str, change: Callable[[dict[str, object]], object]) -> Forge:
    """Change the answer to an operation."""

    def forge(of: str, frame: Frame) -> Frame:
        if of != op or frame.kind != FrameKind.MESSAGE:
            return frame
        message = json.loads(frame.payload)
        if "done" in message:
            change(message["done"])
        return Frame(frame.kind, json.dumps(message).encode(), frame.channel)

    return forge


def tables(old: bytes, new: bytes) -> Forge:
    """Replace bytes of its tables by as many others."""
    assert len(old) == len(new)

    def forge(_: str, frame: Frame) -> Frame:
        if frame.kind != FrameKind.TABLE:
            return frame
        return Frame(frame.kind, frame.payload.replace(old, new), frame.channel)

    return forge


@pytest.mark.parametrize(
    ("forge", "told"),
    [
        (
            answers("counters", lambda done: done.update(snmp={})),
            "node.echo: it sent malformed counters of Icmp",
        ),
        (
            answers("counters", lambda done: done.update(snmp={"Icmp": {"InMsgs": -(2**63)}})),
            "malformed message: a number is beyond 2⁶²",
        ),
        (tables(b'"app"', b'"wir"'), "'point' has 'wir', which is not one of app, qdisc"),
        (tables(b'"app"', b'"a\\n"'), "malformed table 'stamps': column 'point' has 'a\\n'"),
        (tables(b'"time_ns"', b'"time_ps"'), "malformed table 'stamps': it has other columns"),
        (tables(b'"i64"', b'"f64"'), "'stamps': column 'time_ns' is not of type i64"),
    ],
    ids=["no-counters", "counters", "point", "control", "column", "type"],
)
def test_a_lie_ends_the_trial_in_one_line(
    monkeypatch: pytest.MonkeyPatch, forge: Forge, told: str
) -> None:
    lying(monkeypatch, forge)
    with pytest.raises(AgentError) as refused:
        measured(trial(), probe_id=9)
    assert told in str(refused.value)
