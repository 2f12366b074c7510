"""Meanings of answers, beyond the fields that `wire` has of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from delaylab.agent.wire.words import RecordingState

_RECORDED: dict[RecordingState | None, str] = {
    None: "",
    "whole": ", recorded",
    "cut": ", its recording has ended: the log is full, or a call was too large",
}


class EndOfCommand:
    """The end of a command."""

    if TYPE_CHECKING:
        exit: int | None
        killed: int | None

    @property
    def how(self) -> str:
        """Return how the command ended, in words."""
        return f"signal {self.killed}" if self.exit is None else f"exit code {self.exit}"


class StateOfProgram:
    """The state of a long-lived program."""

    if TYPE_CHECKING:
        ends: bool
        ended_ns: int | None
        exit: int | None
        killed: int | None
        frozen: bool
        recording: RecordingState | None

    @property
    def is_dead(self) -> bool:
        """Return True if it ended, and was not to, or failed."""
        return self.ended_ns is not None and not (self.ends and self.exit == 0)

    @property
    def how(self) -> str:
        """Return its state in words."""
        if self.ended_ns is None:
            return ("frozen" if self.frozen else "running") + _RECORDED[self.recording]
        if self.exit is not None:
            return "done" if self.ends and self.exit == 0 else f"ended with exit code {self.exit}"
        return "ended" if self.killed is None else f"ended by signal {self.killed}"
