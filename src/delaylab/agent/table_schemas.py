"""The tables of the agent's protocol (docs/protocol.md, "Tables"): columns, types and ranges.

An agent may be a guest's, which sends what it likes. What is not in these schemas is refused before
anything is made of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import get_args

from delaylab.agent.wire.words import Outcome
from delaylab.causes.records import How, What
from delaylab.io.printable import is_name
from delaylab.records.base import LARGEST, LONGEST_NAME

WIDTHS = {"u8": 1, "u16": 2, "u32": 4, "i64": 8, "f64": 8, "bool": 1, "text": 4, "label": 4}
"""The bytes of one value, by type."""
TEXTS = frozenset({"text", "label"})
"""Types of columns whose values are numbers of texts, which stand in the header."""
LONGEST_TEXT = 300
LONGEST_TASK = 64
"""The most characters of a task's name, as /proc has it of kernel threads, too."""
LONGEST_ADDRESS = 64
"""The most characters of a prefix, an address or a device's name."""
OUTCOMES = frozenset(get_args(Outcome))


@dataclass(frozen=True)
class Column:
    """A column: its type, and what its values may be.

    A `nullable` column of numbers has a byte before each value; a text is missing by its number.
    Numbers are from `least` to `most`. A text has at most `longest` characters; it is one of
    `words` if these are given, or else, as a `name`, one that a dataset can hold as a name.
    """

    kind: str
    nullable: bool = False
    least: int = 0
    most: int | None = None
    words: frozenset[str] | None = None
    longest: int = LONGEST_TEXT
    name: bool = False

    def fits(self, text: str) -> bool:
        """Return True for a text of one of the `words`, or of a form that the column may have."""
        if self.words is not None:
            return text in self.words
        if not 0 < len(text) <= self.longest:
            return False
        return is_name(text) if self.name else _has_encoding(text)

    @property
    def is_text(self) -> bool:
        """Return True if its values are numbers of texts."""
        return self.kind in TEXTS

    @property
    def width(self) -> int:
        """Return the bytes of one row."""
        return WIDTHS[self.kind] + (self.nullable and not self.is_text)


def _has_encoding(text: str) -> bool:
    """Return True for text without surrogates, which can be written."""
    return text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)


Schema = Mapping[str, Column]
_NUMBER = Column("u32")
_NAME = Column("text", longest=LONGEST_NAME, name=True)
_ADDRESS = Column("text", longest=LONGEST_ADDRESS)
_TIME = Column("i64", most=LARGEST)
_STAMPS = {
    "probe": _NUMBER,
    "seq": _NUMBER,
    "leg": Column("u8", most=1),
    "point": Column("label", longest=LONGEST_NAME, name=True),
    "time_ns": _TIME,
}
SCHEMAS: Mapping[str, Schema] = {
    "stamps": _STAMPS,
    "repeats": _STAMPS,
    "packets": {
        "probe": _NUMBER,
        "seq": _NUMBER,
        "intended_ns": _TIME,
        "sent_ns": Column("i64", nullable=True, most=LARGEST),
        "outcome": Column("text", words=OUTCOMES),
        "duplicates": Column("u16"),
        "reordered": Column("bool", most=1),
        "error": Column("text", nullable=True),
    },
    "exchanges": {
        "probe": _NUMBER,
        "seq": _NUMBER,
        "port": Column("u16"),
        "asked": Column("u32", nullable=True),
        "first": Column("u32", nullable=True),
        "last": Column("u32", nullable=True),
        "handshake_ns": Column("i64", nullable=True, most=LARGEST),
        "tls_ns": Column("i64", nullable=True, most=LARGEST),
        "whole_ns": Column("i64", nullable=True, most=LARGEST),
        "status": Column("u16", nullable=True),
        "bytes": Column("i64", most=LARGEST),
    },
    "segments": {
        "probe": _NUMBER,
        "port": Column("u16"),
        "leg": Column("u8", most=1),
        "sequence": _NUMBER,
        "length": Column("u32", least=1),
        "point": Column("label", longest=LONGEST_NAME, name=True),
        "time_ns": _TIME,
    },
    "hosts": {"time_ns": _TIME, "place": _NAME, "metric": _NAME, "value": Column("f64")},
    "hiccups": {
        "cpu": _NUMBER,
        "time_ns": _TIME,
        "took_ns": Column("i64", most=LARGEST),
    },
    "cpus": {
        "time_ns": _TIME,
        "cpu": Column("u16"),
        "what": Column("text", words=frozenset(each.value for each in What)),
        "how": Column("text", nullable=True, words=frozenset(each.value for each in How)),
        "task": _NUMBER,
        "other": _NUMBER,
        "number": _NUMBER,
        "length_ns": Column("i64", most=LARGEST),
        "softirqs": _NUMBER,
        "interrupts": _NUMBER,
    },
    "tasks": {
        "task": _NUMBER,
        "process": _NUMBER,
        "name": Column("text", nullable=True, longest=LONGEST_TASK),
        "placed": Column("bool", most=1),
        "lab": Column("text", nullable=True, longest=LONGEST_NAME, name=True),
        "place": Column("text", nullable=True, longest=LONGEST_NAME),
        "agent": Column("bool", most=1),
        "group": Column("text", nullable=True),
    },
    "retransmissions": {
        "time_ns": _TIME,
        "first_ns": replace(_TIME, nullable=True),
        "local": _ADDRESS,
        "local_port": Column("u16"),
        "remote": _ADDRESS,
        "remote_port": Column("u16"),
        "sequence": _NUMBER,
        "length": _NUMBER,
        "state": Column("text", longest=LONGEST_NAME),
        "needless": Column("bool", most=1),
        "lab": Column("text", nullable=True, longest=LONGEST_NAME, name=True),
        "place": Column("text", nullable=True, longest=LONGEST_NAME),
    },
    "drops": {
        "time_ns": _TIME,
        "probe": _NUMBER,
        "seq": _NUMBER,
        "cpu": _NUMBER,
        "reason": Column("text", nullable=True, longest=LONGEST_NAME),
        "interface": Column("text", nullable=True, longest=LONGEST_NAME),
        "lab": Column("text", nullable=True, longest=LONGEST_NAME, name=True),
        "place": Column("text", nullable=True, longest=LONGEST_NAME),
    },
    "progress": {"time_ns": _TIME, "cpu_ns": _TIME, "units": _NUMBER},
    "texts": {"number": _NUMBER, "text": _ADDRESS},
    "hops": {"set": _NUMBER, "device": _NUMBER, "gateway": replace(_ADDRESS, nullable=True)},
    "changes": {
        "time_ns": _TIME,
        "node": _NUMBER,
        "kind": Column("u8", most=2),
        "what": _NUMBER,
        "value": Column("u32", nullable=True),
    },
}
"""The columns of each table, in the order in which they are sent."""


def width(schema: Schema) -> int:
    """Return the bytes of one row of a table."""
    return sum(column.width for column in schema.values())


def narrowed(
    table: str, numbers: Mapping[str, tuple[int, int]], words: Mapping[str, Iterable[str]]
) -> Schema:
    """Return a table's schema with the least and most numbers, and the texts, of some columns.

    Columns that the table does not have are passed over.
    """
    schema = dict(SCHEMAS[table])
    for name in numbers.keys() & schema.keys():
        schema[name] = replace(schema[name], least=numbers[name][0], most=numbers[name][1])
    for name in words.keys() & schema.keys():
        schema[name] = replace(schema[name], words=frozenset(words[name]))
    return schema
