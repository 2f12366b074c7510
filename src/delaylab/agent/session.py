"""The framed protocol of `docs/protocol.md`: one session with an agent over a byte stream."""

from __future__ import annotations

import json
import math
import os
import select
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from delaylab.agent.tables import decode
from delaylab.errors import DelaylabError

if TYPE_CHECKING:
    import polars as pl

HEADER = struct.Struct("<IHB")
MAX_PAYLOAD = 64 << 20
_CHUNK = 1 << 20
STDIN_WINDOW = 128 << 10
"""The most bytes of standard input that may be under way to a command, sent but not yet read."""
_PIECE = 32 << 10


class FrameKind(IntEnum):
    """The type of a frame's payload."""

    MESSAGE = 0
    TABLE = 1
    STDIN = 2
    STDOUT = 3
    STDERR = 4


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of the protocol."""

    kind: FrameKind
    payload: bytes
    channel: int = 0

    def encode(self) -> bytes:
        """Return the frame's bytes."""
        return HEADER.pack(len(self.payload), self.channel, self.kind) + self.payload


class Decoder:
    """A decoder that accepts bytes in any split and returns complete frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Frame]:
        """Add bytes and return the completed frames; raise ValueError on a protocol violation."""
        self._buffer += data
        frames = []
        while len(self._buffer) >= HEADER.size:
            length, channel, kind = HEADER.unpack_from(self._buffer)
            if length > MAX_PAYLOAD:
                raise ValueError(f"frame of {length} bytes is over the limit")
            end = HEADER.size + length
            if len(self._buffer) < end:
                break
            payload = bytes(self._buffer[HEADER.size : end])
            del self._buffer[:end]
            frames.append(Frame(FrameKind(kind), payload, channel))
        return frames


class AgentError(DelaylabError):
    """An error that an agent reported, or a failure to get its answer."""


class AgentGone(AgentError):
    """The end of the agent's stream in the middle of a request."""


@dataclass
class Result:
    """The result of a finished request: its `done` payload, its tables, the output of a command.

    `parts` holds the encoded parts of each table by the table's name.
    """

    done: dict[str, Any]
    parts: dict[str, list[bytes]] = field(default_factory=dict)
    stdout: bytes = b""
    stderr: bytes = b""

    def table(self, name: str) -> pl.DataFrame:
        """Return a table of the result, its parts joined.

        Raises AgentError if the agent sent none, or a damaged one.
        """
        import polars as pl  # noqa: PLC0415  slow to load, and most verbs need none

        if name not in self.parts:
            raise AgentError(f"the agent sent no table {name!r}")
        try:
            return pl.concat([decode(part) for part in self.parts[name]])
        except (ValueError, pl.exceptions.PolarsError) as error:
            raise AgentError(f"the agent sent a table {name!r} that is none: {error}") from None


class Session:
    """One stream to an agent, with one request at a time."""

    def __init__(self, label: str, reader: int, writer: int, close: Callable[[], None]) -> None:
        self.label = label
        self.on_output: Callable[[Frame], None] | None = None
        self._reader, self._writer, self._close = reader, writer, close
        self._decoder, self._frames = Decoder(), list[Frame]()
        self._request, self._result = "", Result({})
        self._under_way = 0

    def fileno(self) -> int:
        """Return the descriptor for select(); it is readable when the agent has sent something."""
        return self._reader

    def close(self) -> None:
        """Close the session; the agent stops a request that still runs."""
        self._close()

    def start(self, op: str, **fields: object) -> None:
        """Send a request; `event` and `finish` read its answers."""
        self._request, self._result = op, Result({})
        self._under_way = 0
        self._send({"op": op, **fields})

    def stop(self) -> None:
        """Ask the running request to end and to give its results."""
        self._send({"stop": True})

    def signal(self, number: int) -> None:
        """Send a signal to the running command."""
        self._send({"signal": number})

    @property
    def room(self) -> int:
        """Return how many bytes of standard input the running command accepts without a wait."""
        return STDIN_WINDOW - self._under_way

    def stdin(self, data: bytes, deadline: float = math.inf) -> None:
        """Send bytes to the running command, waiting for room; empty bytes close its input.

        Raises AgentError at `deadline`, a time of the monotonic clock in seconds.
        """
        if not data:
            self._write(Frame(FrameKind.STDIN, b""))
        while data:
            while not self.room:
                left = None if deadline == math.inf else deadline - time.monotonic()
                if not self._readable(left):
                    raise AgentError("the command takes no input", self.label)
                self._frames += self._receive()
                if any(_ends(frame) for frame in self._frames):
                    return  # the request has ended: nobody reads the rest
            piece = data[: min(self.room, _PIECE)]
            data = data[len(piece) :]
            self._under_way += len(piece)
            self._write(Frame(FrameKind.STDIN, piece))

    def used(self, count: int) -> None:
        """Tell the agent that `count` more bytes of output are consumed.

        This is for a request with a `window`.
        """
        self._send({"used": count})

    def event(self, timeout: float | None = None) -> dict[str, Any]:
        """Return the request's next event.

        Raises AgentError if the request fails or ends first, or after `timeout` seconds.
        """
        message = self._message(timeout)
        if "event" in message:
            event: dict[str, Any] = message["event"]
            return event
        raise AgentError(f"{self._request} ended early: {message.get('done')}", self.label)

    def finish(
        self, timeout: float | None = None, on_event: Callable[[dict[str, Any]], None] | None = None
    ) -> Result:
        """Read to the request's end and return its result.

        Events are passed to `on_event`. Raises AgentError with the agent's message if the request
        failed, or after `timeout` seconds.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            message = self._message(None if deadline is None else deadline - time.monotonic())
            if "done" in message:
                self._result.done = message["done"] or {}
                return self._result
            if on_event is not None:
                on_event(message.get("event", {}))

    def call(self, op: str, timeout: float | None = 30, **fields: object) -> Result:
        """Run a request from start to end.

        Raises AgentError if it fails, or after `timeout` seconds.
        """
        self.start(op, **fields)
        return self.finish(timeout)

    def read_output(self, timeout: float) -> None:
        """Wait for output of the running command and pass it to `on_output`.

        Raises AgentError if the command has ended, or is silent for `timeout` seconds.
        """
        if not self._frames and not self._readable(timeout):
            raise AgentError(f"no sign of life within {timeout:.0f} s", self.label)
        done = self.poll_done()
        if done is not None:
            raise AgentError(f"it ended: {done}", self.label)

    def poll_done(self) -> dict[str, Any] | None:
        """Process received frames; return the `done` payload if the request has ended, else None.

        Blocks in at most one read. Raises AgentError if the request failed.
        """
        if not self._frames:
            self._frames += self._receive()
        while self._frames:
            frame = self._frames.pop(0)
            if frame.kind != FrameKind.MESSAGE:
                self._keep(frame)
                continue
            message = self._parsed(frame)
            if "done" in message:
                done: dict[str, Any] = message["done"]
                return done
        return None

    def check(self) -> None:
        """Read without waiting; raise AgentError if the request has failed or the agent died."""
        while self._readable(0):
            for frame in self._receive():
                if frame.kind == FrameKind.MESSAGE:
                    self._parsed(frame)
                self._frames.append(frame)

    def _message(self, timeout: float | None) -> dict[str, Any]:
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            while self._frames:
                frame = self._frames.pop(0)
                if frame.kind == FrameKind.MESSAGE:
                    return self._parsed(frame)
                self._keep(frame)
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not self._readable(left):
                raise AgentError(f"{self._request}: no answer within {timeout:.0f} s", self.label)
            self._frames += self._receive()

    def _parsed(self, frame: Frame) -> dict[str, Any]:
        """Return a message; raise AgentError for a failure, or for what is no message.

        The agent in a guest is the guest's: it may send anything.
        """
        try:
            message = json.loads(frame.payload)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict) or not any(
            isinstance(message.get(name), dict) for name in ("event", "done", "error")
        ):
            raise AgentError("does not speak the protocol: a message is none", self.label)
        if "error" in message:
            what, why, fix = (str(message["error"].get(n, "")) for n in ("what", "why", "fix"))
            raise AgentError(f"{what}: {why}", self.label, fix)
        return message

    def _keep(self, frame: Frame) -> None:
        if frame.kind == FrameKind.TABLE:
            length = frame.payload[0] if frame.payload else 0
            name = frame.payload[1 : 1 + length].decode(errors="replace")
            self._result.parts.setdefault(name, []).append(frame.payload[1 + length :])
        elif self.on_output is not None:
            self.on_output(frame)
        elif frame.kind == FrameKind.STDOUT:
            self._result.stdout += frame.payload
        elif frame.kind == FrameKind.STDERR:
            self._result.stderr += frame.payload

    def _readable(self, timeout: float | None) -> bool:
        poll = select.poll()
        poll.register(self._reader, select.POLLIN)
        return bool(poll.poll(None if timeout is None else max(0, round(timeout * 1000))))

    def _receive(self) -> list[Frame]:
        try:
            data = os.read(self._reader, _CHUNK)
        except ConnectionError:
            data = b""
        if not data:
            raise AgentGone(f"the agent died during {self._request!r}", self.label)
        try:
            frames = self._decoder.feed(data)
        except ValueError as error:
            raise AgentError(f"does not speak the protocol: {error}", self.label) from None
        return [frame for frame in frames if not self._is_of_window(frame)]

    def _is_of_window(self, frame: Frame) -> bool:
        """Return True for a `used` event of the window of standard input, after counting it.

        No caller waits for such an event, so these frames are filtered out.
        """
        if frame.kind != FrameKind.MESSAGE or not self._under_way:
            return False
        used = (_event(frame) or {}).get("used")
        if not isinstance(used, int):
            return False
        self._under_way -= min(max(used, 0), self._under_way)
        return True

    def _send(self, message: dict[str, object]) -> None:
        self._write(Frame(FrameKind.MESSAGE, json.dumps(message).encode()))

    def _write(self, frame: Frame) -> None:
        data = memoryview(frame.encode())
        try:
            while data:
                data = data[os.write(self._writer, data) :]
        except (BrokenPipeError, ConnectionResetError):
            raise self._last_words() from None

    def _last_words(self) -> AgentError:
        """Return the agent's error message from before it closed the stream, or AgentGone."""
        try:
            self._message(0)
        except AgentGone:
            pass
        except AgentError as error:
            return error
        return AgentGone("the agent is gone", self.label)


def _ends(frame: Frame) -> bool:
    """Return True for the message that ends a request."""
    return frame.kind == FrameKind.MESSAGE and _event(frame) is None


def _event(frame: Frame) -> dict[str, Any] | None:
    """Return the event in a message; None for any other message, also for what is none."""
    try:
        message = json.loads(frame.payload)
    except (ValueError, RecursionError):
        return None
    event = message.get("event") if isinstance(message, dict) else None
    return event if isinstance(event, dict) else None


def wait_watching(session: Session, others: Sequence[Session]) -> Result:
    """Finish one session's request; raise at once if a request of another session fails."""
    poll = select.poll()
    by_fd = {other.fileno(): other for other in others}
    for fd in (session.fileno(), *by_fd):
        poll.register(fd, select.POLLIN)
    while True:
        for fd, _ in poll.poll():
            if fd == session.fileno():
                return session.finish()
            by_fd[fd].check()
