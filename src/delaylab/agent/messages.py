"""Messages of an agent: JSON objects that may come from a hostile guest, and are checked here."""

from __future__ import annotations

from pydantic import BaseModel

from delaylab.agent.bounded_json import MOST_BYTES, read_object
from delaylab.agent.frames import Frame, FrameKind
from delaylab.agent.result import Result
from delaylab.agent.wire.sessions import Exec, ExecDone
from delaylab.io.printable import one_line

KINDS = ("event", "done", "error")
"""The names of an agent's messages, each with an object."""


def parsed(frame: Frame, most_bytes: int = MOST_BYTES) -> dict[str, object]:
    """Return the message in a frame; raise ValueError for what is not one of an agent's."""
    message = read_object(frame.payload, most_bytes)
    if not any(name in message for name in KINDS):
        raise ValueError(f"it has none of {', '.join(KINDS)}")
    if not all(isinstance(message.get(name, {}), dict) for name in KINDS):
        raise ValueError("it is not an object of objects")
    return message


def ends(frame: Frame) -> bool:
    """Return True for the message that ends a request."""
    return frame.kind == FrameKind.MESSAGE and event_of(frame) is None


def event_of(frame: Frame) -> dict[str, object] | None:
    """Return the event in a message; None for any other message, also for a malformed one."""
    try:
        event = read_object(frame.payload).get("event")
    except ValueError:
        return None
    return event if isinstance(event, dict) else None


def object_of(value: object) -> dict[str, object]:
    """Return a value that is an object; an empty one for any other."""
    return value if isinstance(value, dict) else {}


def shown(answer: object) -> str:
    """Return an answer as a short text."""
    return one_line(repr(answer))


def ended_by_itself(result: Result[BaseModel]) -> str:
    """Return which request, or which program of one, ended before it was asked to, and how."""
    request, answer = result.request, result.done
    if isinstance(request, Exec) and isinstance(answer, ExecDone):
        return f"{request.argv[0]} ended by itself: {answer.how}"
    return f"{request.op} ended by itself"
