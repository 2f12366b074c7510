"""Messages of an agent: JSON objects that may come from a hostile guest, and are checked here."""

from __future__ import annotations

import json
import math
from typing import NoReturn

from pydantic import BaseModel

from delaylab.agent.frames import Frame, FrameKind
from delaylab.agent.replies import Exit
from delaylab.agent.requests import Exec
from delaylab.agent.result import Result
from delaylab.dataset.records.base import LARGEST

KINDS = ("event", "done", "error")
"""The names of an agent's messages, each with an object."""


def parsed(frame: Frame) -> dict[str, object]:
    """Return the message in a frame; raise ValueError for what is not one of an agent's.

    A number beyond those that a dataset can hold is not one either.
    """
    try:
        message = json.loads(
            frame.payload, parse_int=_whole, parse_float=_finite, parse_constant=_no_number
        )
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if not isinstance(message, dict) or not any(name in message for name in KINDS):
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
        message = json.loads(frame.payload)
    except (ValueError, RecursionError):
        return None
    event = message.get("event") if isinstance(message, dict) else None
    return event if isinstance(event, dict) else None


def object_of(value: object) -> dict[str, object]:
    """Return a value that is an object; an empty one for any other."""
    return value if isinstance(value, dict) else {}


def ended_by_itself(result: Result[BaseModel]) -> str:
    """Return which request, or which program of one, ended before it was asked to, and how."""
    request, answer = result.request, result.done
    if isinstance(request, Exec) and isinstance(answer, Exit):
        return f"{request.argv[0]} ended by itself: {answer.how}"
    return f"{request.op} ended by itself"


def _whole(text: str) -> int:
    number = int(text)
    if abs(number) > LARGEST:
        raise ValueError("a number is beyond 2⁶²")
    return number


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")
