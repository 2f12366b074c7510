"""Doubts about the data: one enumeration for the agent, a trial and the analysis."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from delaylab.records.base import Number, Record, Text, Word


class DoubtKind(StrEnum):
    """Kinds of doubts.

    Those up to `UNATTRIBUTED_ERROR` come from the agent, those up to `CONDITIONS_CHANGED` from a
    trial; the analysis finds the others in the data.
    """

    NOT_REALTIME = "not-realtime"
    REPLIES_DROPPED = "replies-dropped"
    MISMATCHED_REPLIES = "mismatched-replies"
    NO_KERNEL_STAMPS = "no-kernel-stamps"
    UNATTRIBUTED_ERROR = "unattributed-error"
    FABRIC = "fabric"
    EMULATED = "emulated"
    WORK_FAILED = "work-failed"
    CAPTURE_CUT = "capture-cut"
    FOREIGN_PACKETS = "foreign-packets"
    FAILED_REQUESTS = "failed-requests"
    NO_CAUSES = "no-causes"
    CONDITIONS_CHANGED = "conditions-changed"
    FEW_SAMPLES = "few-samples"
    LONG_MEMORY = "long-memory"
    SEND_SLIP = "send-slip"
    DROPPED_STAMPS = "dropped-stamps"
    QUEUE_CHANGED = "queue-changed"
    UNSEEN = "unseen"
    LOST = "lost"
    RESPONDER_DROPS = "responder-drops"
    FORGED_REPLIES = "forged-replies"
    CLOSED_PORT = "closed-port"
    CLOCK_STEP = "clock-step"
    CLOCK_SLEWED = "clock-slewed"
    CLOCK_TICK = "clock-tick"
    CLOCK_UNALIGNED = "clock-unaligned"
    CLOCK_BOUND = "clock-bound"
    CLOCK_LOOP = "clock-loop"
    CLOCK_SYMMETRIC = "clock-symmetric"
    BACKWARDS = "backwards"
    WAY_UNKNOWN = "way-unknown"
    STOLEN_TIME = "stolen-time"
    NOT_AT_REST = "not-at-rest"
    STARVED_WATCHER = "starved-watcher"
    STOPPED_PROCESS = "stopped-process"
    INTERFACE_DROPS = "interface-drops"
    LINK_NOT_HELD = "link-not-held"
    SHORT_WORK = "short-work"
    CPU_TIMES_DIFFER = "cpu-times-differ"


class Doubt(Record):
    """A doubt about the data: what was seen, the remedy, and the figures of the message by name.

    A kind that is no `DoubtKind` is of another version.
    """

    kind: DoubtKind | Text = Field(description="The kind of doubt; see the glossary.")
    message: Text = Field(description="The observation, in one sentence.")
    remedy: Text = Field(description="A way to avoid it.")
    values: dict[Word, Number | Text] = Field(
        {}, description="The figures in the message, by name."
    )

    @property
    def identity(self) -> tuple[str, str]:
        """Return the kind and the message: doubts that share both are one."""
        return str(self.kind), self.message


def doubt(kind: DoubtKind, message: str, remedy: str, **values: float | str) -> Doubt:
    """Return a doubt with the figures of its message."""
    return Doubt(kind=kind, message=message, remedy=remedy, values=values)


def each_once(doubts: list[Doubt]) -> list[Doubt]:
    """Return the doubts without repetitions of a message, in their order."""
    return list({each.identity: each for each in reversed(doubts)}.values())[::-1]
