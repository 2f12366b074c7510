"""Sessions with agents: requests, results, tables."""

from __future__ import annotations

from delaylab.agent.counters import counter, of_interface, of_protocol
from delaylab.agent.frames import Frame, FrameKind
from delaylab.agent.measuring_requests import Compute, Probe, Reflect, Tap, Watch
from delaylab.agent.recording import CpuRecording
from delaylab.agent.requests import Request
from delaylab.agent.result import MOST_KEPT, AgentError, AgentGone, NoAnswer, Result, Unreachable
from delaylab.agent.session import Session
from delaylab.agent.stream import Loop
from delaylab.agent.table_schemas import Schema
from delaylab.agent.tables import (
    MISSING,
    ColumnFacts,
    Form,
    RawColumn,
    check_values,
    raw_columns,
    twice,
)
from delaylab.agent.watched import Watched, wait_watching
from delaylab.agent.wire.links import WantedPacket
from delaylab.agent.wire.loads import (
    ComputeDone,
    Discard,
    DiscardDone,
    Discarded,
    Generate,
    GenerateDone,
)
from delaylab.agent.wire.loads import Flow as FrameFlow
from delaylab.agent.wire.measuring import (
    Clock,
    Counters,
    FindRoute,
    ProbeDone,
    ReflectDone,
    WatchDone,
    WatchPlace,
)
from delaylab.agent.wire.sessions import Exec, ExecDone, Hello, Terminal
from delaylab.agent.wire.tapping import TapDone, TapFilter, TapInterface, TapSockets
from delaylab.agent.wire.words import Protocol as AgentProtocol

__all__ = [
    "MISSING",
    "MOST_KEPT",
    "AgentError",
    "AgentGone",
    "AgentProtocol",
    "Clock",
    "ColumnFacts",
    "Compute",
    "ComputeDone",
    "Counters",
    "CpuRecording",
    "Discard",
    "DiscardDone",
    "Discarded",
    "Exec",
    "ExecDone",
    "FindRoute",
    "Form",
    "Frame",
    "FrameFlow",
    "FrameKind",
    "Generate",
    "GenerateDone",
    "Hello",
    "Loop",
    "NoAnswer",
    "Probe",
    "ProbeDone",
    "RawColumn",
    "Reflect",
    "ReflectDone",
    "Request",
    "Result",
    "Schema",
    "Session",
    "Tap",
    "TapDone",
    "TapFilter",
    "TapInterface",
    "TapSockets",
    "Terminal",
    "Unreachable",
    "WantedPacket",
    "Watch",
    "WatchDone",
    "WatchPlace",
    "Watched",
    "check_values",
    "counter",
    "of_interface",
    "of_protocol",
    "raw_columns",
    "twice",
    "wait_watching",
]
