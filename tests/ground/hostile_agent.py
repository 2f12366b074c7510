"""An agent that sends what it likes: whole tables and messages, and ones that were mutated."""

from __future__ import annotations

import json
import os
import random
import struct
from io import BytesIO
from typing import Any, BinaryIO

from delaylab.agent.frames import Frame, FrameKind
from delaylab.agent.measuring_requests import Compute, Probe, Reflect, Tap, Watch
from delaylab.agent.observed_tables import ObservedTables
from delaylab.agent.observing_requests import Observe
from delaylab.agent.requests import Request
from delaylab.agent.result import Result
from delaylab.agent.session import Session
from delaylab.agent.stream import Stream
from delaylab.agent.wire.measuring import WatchPlace
from delaylab.agent.wire.tapping import TapFilter, TapInterface
from delaylab_study.trial import frames
from delaylab_study.trial.asked import asked_packets

FORMATS = {"u8": "B", "u16": "H", "u32": "I", "i64": "q", "f64": "d", "bool": "?"}
Columns = list[tuple[str, str, list[Any]]]
"""The name, the type and the values of each column; one of the type `u32?` may be missing."""
T = 1_700_000_000 * 10**9
STAMPS: Columns = [
    ("probe", "u32", [1, 1, 1, 1]),
    ("seq", "u32", [0, 0, 1, 1]),
    ("leg", "u8", [0, 1, 0, 1]),
    ("point", "label", ["app", "app", "stack", "app"]),
    ("time_ns", "i64", [T, T + 1, T + 2, T + 3]),
]
PACKETS: Columns = [
    ("probe", "u32", [1, 1]),
    ("seq", "u32", [0, 1]),
    ("intended_ns", "i64", [T, T + 2]),
    ("sent_ns", "i64?", [T + 1, None]),
    ("outcome", "text", ["replied", "refused"]),
    ("duplicates", "u16", [0, 3]),
    ("reordered", "bool", [False, True]),
    ("error", "text", [None, "No buffer space available"]),
]
HOSTS: Columns = [
    ("time_ns", "i64", [T, T]),
    ("place", "text", ["machine", "a"]),
    ("metric", "text", ["cpu0.user", "cpus"]),
    ("value", "f64", [0.5, 1.0]),
]
PROGRESS: Columns = [("time_ns", "i64", [T]), ("cpu_ns", "i64", [5]), ("units", "u32", [1])]
TEXTS: Columns = [("number", "u32", [0, 1]), ("text", "text", ["10.0.0.0/24", "eth0"])]
HOPS: Columns = [("set", "u32", [1]), ("device", "u32", [1]), ("gateway", "text", [None])]
CHANGES: Columns = [
    ("time_ns", "i64", [T, T, T]),
    ("node", "u32", [0, 0, 0]),
    ("kind", "u8", [0, 1, 2]),
    ("what", "u32", [0, 1, 0]),
    ("value", "u32?", [1, 3, None]),
]


def table(name: str, columns: Columns) -> bytes:
    """Return a table as the payload of a frame."""
    header, body = [], b""
    for column, kind, values in columns:
        about: dict[str, Any] = {"name": column, "type": kind.rstrip("?")}
        if kind in ("text", "label"):
            about["values"] = list(dict.fromkeys(v for v in values if v is not None))
            places = {text: number for number, text in enumerate(about["values"])}
            numbers = [0xFFFFFFFF if v is None else places[v] for v in values]
            body += struct.pack(f"<{len(values)}I", *numbers)
        else:
            if kind.endswith("?"):
                about["nullable"] = True
                body += bytes(v is not None for v in values)
            code = FORMATS[kind.rstrip("?")]
            body += struct.pack(f"<{len(values)}{code}", *(v or 0 for v in values))
        header.append(about)
    return payload(name, {"rows": len(columns[0][2]), "columns": header}, body)


def payload(name: str, header: Any, body: bytes) -> bytes:
    """Return a table's payload with any header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return bytes([len(name)]) + name.encode() + struct.pack("<I", len(text)) + text + body


def message(**content: Any) -> bytes:
    return Frame(FrameKind.MESSAGE, json.dumps(content).encode()).encode()


def frame(content: bytes) -> bytes:
    return Frame(FrameKind.TABLE, content).encode()


REQUESTS: list[tuple[Request[Any], dict[str, Columns], dict[str, Any]]] = [
    (
        Probe(
            probe=1,
            protocol="udp",
            to="::1",
            count=2,
            interval_ns=1,
            size=64,
            linger_ns=1,
            late_ns=1,
        ),
        {"stamps": STAMPS, "packets": PACKETS},
        {
            **{"sent": 2, "replied": 1, "realtime": True, "clock": "realtime@0", "by": "socket"},
            "warnings": [{"kind": "clock-step", "message": "m", "remedy": "r", "values": {"x": 1}}],
        },
    ),
    (
        Reflect(port=1, ip=4, stamps=True, probe=1, packets=9),
        {"stamps": STAMPS},
        {"reflected": 2, "unsent": 0},
    ),
    (
        Tap(
            interfaces=[TapInterface(n, n) for n in ("app", "stack")],
            filter=TapFilter(protocol="udp", ip=4, probe=1, packets=9),
            repeats=4,
        ),
        {"stamps": STAMPS, "repeats": STAMPS},
        {
            "interfaces": [{"point": n, "packets": 1, "dropped": 0} for n in ("app", "stack")],
            "uncaptured": 0,
        },
    ),
    (
        Watch(interval_ns=10**8, places=[WatchPlace("a", 1, {})]),
        {"hosts": HOSTS},
        {"samples": 1, "missed": 0},
    ),
    (
        Compute(units=9),
        {"progress": PROGRESS},
        {"units": 1, "began_ns": T, "ended_ns": T + 9, "user_ns": 5, "system_ns": 0},
    ),
    (
        Observe(places=[]),
        {"texts": TEXTS, "hops": HOPS, "changes": CHANGES},
        {"changes": 1, "messages": 2, "lost": 0, "read_again": 0, "realtime": False},
    ),
]


class Said(Stream):
    """Stream with an agent's answers, which drops all requests."""

    def __init__(self, data: BinaryIO) -> None:
        self._data = data
        self._end, self._other = os.pipe()
        os.close(self._other)  # so that it is always readable

    def fileno(self) -> int:
        return self._end

    def read(self, most: int) -> bytes:
        return self._data.read(most)

    def write(self, data: memoryview) -> int:
        return len(data)

    def close(self) -> None:
        os.close(self._end)

    def why_ended(self) -> str | None:
        return None


def read_all(request: Request[Any], said: bytes | BinaryIO) -> Result[Any]:
    """Have a session read what an agent has sent, and each table and the answer of it be read."""
    session = Session("node.b", Said(BytesIO(said) if isinstance(said, bytes) else said))
    try:
        result = session.start(request)
        session.event(1)
        session.finish(1)
        _ = result.done
        if isinstance(request, Observe):
            tables = ObservedTables([["b"]], session.label)
            parts = {name: list(each) for name, each in result.parts.items()}
            tables.take_start(parts, {}, {})
            tables.take({"changes": result.parts.get("changes", [])})
        for name in result.parts:
            frames.frame(result, name)
            result.rows(name)
        if isinstance(request, Probe):
            asked_packets(result)
        return result
    finally:
        session.close()


def sent(tables: dict[str, bytes], done: dict[str, Any]) -> bytes:
    """Return a whole answer: `ready`, tables, the end."""
    whole = b"".join(map(frame, tables.values()))
    return message(event={"ready": True}) + whole + message(done=done)


ODD: list[Any] = [
    *(None, True, -1, 0, 7, 10**30, 10**400, 2**63, 2**62, 1.5, 1e308, "", "x" * 400, "\ud800"),
    *([], [1], [[]] * 9, {}, {"a": 1}, "leg", "f64", "u8", "text", "../../x", "<script>"),
    *(float("nan"), float("inf"), "\x1b[2J", "a\nb", "é" * 200),
]


def mutated(choose: random.Random, whole: bytes) -> bytes:
    """Return a table's payload with its bytes, its header, or a value of the header changed."""
    split = 1 + whole[0]
    (length,) = struct.unpack_from("<I", whole, split)
    name = whole[1:split].decode()
    header = json.loads(whole[split + 4 : split + 4 + length])
    body = whole[split + 4 + length :]
    kind = choose.randrange(6)
    if kind == 0:
        changed = bytearray(whole)
        for _ in range(choose.randint(1, 8)):
            changed[choose.randrange(len(changed))] = choose.randrange(256)
        return bytes(changed)
    if kind == 1:
        return whole[: choose.randrange(len(whole))]
    if kind == 2:
        values = bytearray(body)
        for _ in range(choose.randint(1, 8)):
            values[choose.randrange(len(values))] = choose.choice([0, 1, 0x7F, 0x80, 0xFF])
        return payload(name, header, bytes(values))
    if kind == 3:
        choose.shuffle(header["columns"])
        return payload(choose.choice([name, "stamps", "x", "hosts"]), header, body)
    if kind == 4:
        header[choose.choice(["rows", "columns"])] = choose.choice(ODD)
        return payload(name, header, body)
    column = choose.choice(header["columns"])
    column[choose.choice(["name", "type", "nullable", "values"])] = choose.choice(ODD)
    return payload(name, header, body)


def odd_answer(choose: random.Random, done: Any) -> Any:
    """Return an answer with one of its values changed or left out."""
    if isinstance(done, dict) and done and choose.random() < 0.9:
        key = choose.choice(list(done))
        left = {name: value for name, value in done.items() if name != key}
        return left if choose.random() < 0.2 else {**left, key: odd_answer(choose, done[key])}
    if isinstance(done, list) and done and choose.random() < 0.7:
        return [odd_answer(choose, done[0]), *done[1:]] * choose.choice([1, 1, 20_000])
    return choose.choice(ODD)


def scene(seed: int) -> tuple[Request[Any], bytes]:
    """Return a request, and what a hostile agent answers."""
    choose = random.Random(seed)
    request, tables, done = choose.choice(REQUESTS)
    parts = {name: table(name, columns) for name, columns in tables.items()}
    victim = choose.choice(list(parts))
    if choose.random() < 0.75:
        parts[victim] = mutated(choose, parts[victim])
    else:
        done = odd_answer(choose, done)
    return request, sent(parts, done)
