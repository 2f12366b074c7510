"""How a rate was found, as a trial's record keeps it: where doing and meaning meet."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Try(_Record):
    """One burst: how it was meant, and what came of it (times in ns, `took` to the last reply)."""

    interval_ns: int
    packets: int
    lost: int
    sent_in_ns: int
    took_ns: int
    held: bool


class Search(_Record):
    """The shortest interval between packets that was held, and how it was found."""

    asked_interval_ns: int
    interval_ns: int
    tries: tuple[Try, ...]
