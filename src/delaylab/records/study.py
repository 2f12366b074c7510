"""`study.json`: what was asked, of which machine."""

from __future__ import annotations

from delaylab.records.base import Record


class Machine(Record):
    """The machine that ran the study; memory in bytes."""

    hostname: str
    kernel: str
    cpu: str
    cores: int
    memory_bytes: int
    python: str
    delaylab: str
    agent: str
    clock: str


class StudyRecord(Record):
    """`study.json`: what was asked, of which machine."""

    format: int
    study: str
    title: str
    seed: int
    scale: str
    spec: dict[str, object]
    factors: dict[str, list[str]]
    claims: list[str]
    planned: list[str]
    machine: Machine
    created: str
