"""Failures that an agent reports, and those to get its answer, as errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from delaylab.errors import DelaylabError
from delaylab.io.printable import one_line

MOST_SAID = 20_000
"""The most characters of each part of an error."""


class FailureKind(StrEnum):
    """The kind of a failure (`docs/protocol.md`); the rest of it is for readers."""

    NOT_STARTED = "not-started"
    OTHER_VERSION = "other-version"
    FAILED = "failed"


@dataclass(slots=True)
class AgentError(DelaylabError):
    """An error that an agent reported, or a failure to get its answer.

    `errno` is the system's error number if a call of the system is the cause.
    """

    kind: FailureKind = field(default=FailureKind.FAILED, kw_only=True)
    errno: int | None = field(default=None, kw_only=True)


class NoAnswer(AgentError):
    """An answer that did not come in time; the agent may still give it."""


class AgentGone(AgentError):
    """The end of the agent's stream in the middle of a request."""


class Unreachable(AgentGone):
    """A machine that cannot be reached, or cannot be any more; `where` names it."""

    @property
    def machine(self) -> str:
        """Return the name of the machine."""
        return self.where.removeprefix("machine ")


def failure_of(said: Mapping[str, object], label: str) -> AgentError:
    """Return the error for a failure that an agent reports, which may be anything.

    A kind that is not known here, or not stated, is that of any other failure.
    """
    what, why, fix = (str(said.get(name, ""))[:MOST_SAID] for name in ("what", "why", "fix"))
    kind = next((each for each in FailureKind if each == said.get("kind")), FailureKind.FAILED)
    errno = said.get("errno")
    number = errno if isinstance(errno, int) else None
    return AgentError(f"{what}: {why}", label, fix, kind=kind, errno=number)


def failed_command(stderr: str, where: str = "") -> DelaylabError:
    """Return the error of a command of the agent's binary that failed, from its last line.

    That line is the message that ends a failed request. A command that was killed, or is of another
    version, says something else, which is given as it is.
    """
    from delaylab.agent.bounded_json import read_object  # noqa: PLC0415  few commands fail

    last = stderr.strip().rpartition("\n")[2]
    try:
        said = read_object(last.encode()).get("error")
    except ValueError:
        said = None
    if isinstance(said, dict):
        return failure_of(said, where)
    return DelaylabError(one_line(last)[:MOST_SAID], where)
