"""Record in `study.json`: the configured study and the machine that ran it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from delaylab.dataset.records.base import MOST_TRIALS, Count, Record, Text, TrialId, Word

Levels = Annotated[list[Text], Field(max_length=MOST_TRIALS)]


MOST_FACTORS, MOST_CLAIMS = 100, 1000


class Machine(Record):
    """Machine that ran the study; memory in bytes."""

    hostname: Text
    kernel: Text
    cpu: Text
    cores: Count
    memory_bytes: Count
    python: Text
    delaylab: Text
    agent: Text
    clock: Text


class StudyRecord(Record):
    """Record in `study.json`: the configured study and the machine that ran it."""

    format: int
    study: Text
    title: Text
    seed: int
    scale: Text
    spec: dict[str, object]
    factors: Annotated[dict[Word, Levels], Field(max_length=MOST_FACTORS)]
    claims: Annotated[list[Text], Field(max_length=MOST_CLAIMS)]
    planned: Annotated[list[TrialId], Field(max_length=MOST_TRIALS)]
    machine: Machine
    created: Text
