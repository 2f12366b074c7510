"""Forwarding tables: what changes in them, and where packets go by them."""

from __future__ import annotations

from delaylab.forwarding.detours import NodesPassed
from delaylab.forwarding.expected import expected_tables
from delaylab.forwarding.fates import Fates, Interval, Kind
from delaylab.forwarding.judged import JudgedPrefixes
from delaylab.forwarding.service import acted
from delaylab.forwarding.tables import Change, Hops, LinkChange, Lost, Table, TableChange, apply
from delaylab.forwarding.topology import End, Faults
from delaylab.forwarding.until import Until, quiet_words
from delaylab.forwarding.verified import TablesVerdict, Verified
from delaylab.forwarding.wrong import Row, WrongRoutes

__all__ = [
    "Change",
    "End",
    "Fates",
    "Faults",
    "Hops",
    "Interval",
    "JudgedPrefixes",
    "Kind",
    "LinkChange",
    "Lost",
    "NodesPassed",
    "Row",
    "Table",
    "TableChange",
    "TablesVerdict",
    "Until",
    "Verified",
    "WrongRoutes",
    "acted",
    "apply",
    "expected_tables",
    "quiet_words",
]
