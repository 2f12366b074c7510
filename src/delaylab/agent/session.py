"""The framed protocol of `docs/protocol.md`: one session with an agent over a byte stream."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Mapping

from pydantic import BaseModel, ValidationError

from delaylab.agent.events import Event, ReadyPort
from delaylab.agent.failures import failure_of
from delaylab.agent.frames import Decoder, Frame, FrameKind
from delaylab.agent.messages import ended_by_itself, event_of, object_of, parsed, shown
from delaylab.agent.requests import R_co, Request
from delaylab.agent.result import AgentError, AgentGone, NoAnswer, Result
from delaylab.agent.stream import Stream, readable
from delaylab.agent.waiting_frames import WaitingFrames
from delaylab.agent.wire.sessions import Hello

_CHUNK = 1 << 20
STDIN_WINDOW = 128 << 10
"""The most bytes of standard input that may be under way to a command, sent but not yet read."""
_PIECE = 32 << 10
FRAME_S = 60.0
"""Seconds that a frame may take from its first byte to its last."""


class Session:
    """One stream to an agent, with one request at a time."""

    def __init__(self, label: str, stream: Stream) -> None:
        self.label = label
        self.on_output: Callable[[Frame], None] | None = None
        self._stream = stream
        self._decoder, self._frames = Decoder(), WaitingFrames()
        self._kept_s = -math.inf
        self._part_since_s = math.inf
        self._result: Result[BaseModel] = Result(Hello())
        self._under_way = 0
        self._closed = False

    def fileno(self) -> int:
        """Return the descriptor for select(); it is readable when the agent has sent something.

        Raises AgentGone if the session is closed.
        """
        self._check_open()
        return self._stream.fileno()

    def close(self) -> None:
        """Close the session, unless it is; the agent stops a request that still runs.

        Every use from then on raises AgentGone: its descriptors may be those of other files soon.
        """
        if not self._closed:
            self._closed = True
            self._stream.close()

    def start(self, request: Request[R_co]) -> Result[R_co]:
        """Send a request, and return its result, which `finish` or `poll_done` fills."""
        result = Result(request, label=self.label)
        self._result = result
        self._under_way = 0
        self._kept_s, self._frames.has_end = -math.inf, False
        self._send(request.message())
        return result

    def stop(self) -> None:
        """Ask the running request to end and to give its results."""
        self._send({"stop": True})

    def pause(self, paused: bool) -> None:
        """Have the taps of the running request taken off their interfaces, or put back.

        The request's next event says that it is done.
        """
        self._send({"pause": paused})

    def keep(self) -> None:
        """Tell the keeper of a lab to keep it after this session has ended."""
        self._send({"keep": True})

    def go(self) -> None:
        """Let a request begin that waits for it (`hold`)."""
        self._send({"go": True})

    def window(self, from_ns: int, to_ns: int) -> None:
        """Ask the running request for what it recorded between two times, in ns since 1970."""
        self._send({"window": {"from_ns": from_ns, "to_ns": to_ns}})

    def drops(self, from_ns: int, to_ns: int) -> None:
        """Ask the running request for the packets that the kernel dropped between two times."""
        self._send({"drops": {"from_ns": from_ns, "to_ns": to_ns}})

    def signal(self, number: int) -> None:
        """Send a signal to the running command."""
        self._send({"signal": number})

    @property
    def has_frames(self) -> bool:
        """Return True if frames were received that nothing has read: `fileno` is silent on them."""
        return bool(self._frames)

    @property
    def room(self) -> int:
        """Return how many bytes of standard input the running command accepts without a wait."""
        return STDIN_WINDOW - self._under_way

    def stdin(self, data: bytes, deadline: float = math.inf) -> None:
        """Send bytes to the running command, waiting for room; empty bytes close its input.

        Raises NoAnswer at `deadline`, a time of the monotonic clock in seconds.
        """
        if not data:
            self._write(Frame(FrameKind.STDIN, b""))
        while data:
            while not self.room:
                if self._frames.has_end:
                    return  # the request has ended: nobody reads the rest
                left = None if deadline == math.inf else deadline - time.monotonic()
                if not self._readable(left):
                    raise NoAnswer("the command takes no input", self.label)
                self._hold(self._receive())
            piece = data[: min(self.room, _PIECE)]
            data = data[len(piece) :]
            self._under_way += len(piece)
            self._write(Frame(FrameKind.STDIN, piece))

    def used(self, count: int) -> None:
        """Tell the agent that `count` more bytes of output are consumed.

        This is for a request with a `window`.
        """
        self._send({"used": count})

    def event(self, timeout: float | None = None) -> Event:
        """Return the request's next event.

        Raises AgentError if the request fails or ends first, NoAnswer after `timeout` seconds.
        """
        message = self._message(timeout, time.monotonic())
        if "event" in message:
            return self._event(message)
        raise AgentError(f"{self._op} ended early: {shown(message.get('done'))}", self.label)

    def port(self, timeout: float) -> int:
        """Return the port at which the request listens, which its next event says.

        Raises AgentError and NoAnswer as `event` does.
        """
        ready = self.event(timeout).ready
        if not isinstance(ready, ReadyPort):
            raise AgentError(f"{self._op}: it does not say at which port it listens", self.label)
        return ready.port

    def finish(
        self,
        timeout: float | None = None,
        on_event: Callable[[Event], None] | None = None,
        since_s: float | None = None,
    ) -> None:
        """Read to the request's end.

        Events are passed to `on_event`. Raises AgentError with the agent's message if the request
        failed, NoAnswer after `timeout` seconds. They are counted from now, or from `since_s`, a
        time of the monotonic clock.
        """
        since_s = time.monotonic() if since_s is None else since_s
        while True:
            message = self._message(timeout, since_s)
            if "done" in message:
                self._result.raw = object_of(message["done"])
                return
            if on_event is not None:
                on_event(self._event(message))

    def await_end(self, timeout: float) -> None:
        """Read until the agent closes the session, and drop what it still sends.

        Raises NoAnswer after `timeout` seconds.
        """
        deadline = time.monotonic() + timeout
        while True:
            if not self._readable(max(0.0, deadline - time.monotonic())):
                raise NoAnswer(f"it does not end within {timeout:g} s", self.label)
            self._check_open()
            if not self._stream.read(_CHUNK):
                return

    def call(self, request: Request[R_co], timeout: float | None = 30) -> Result[R_co]:
        """Run a request from start to end.

        Raises AgentError if it fails, NoAnswer after `timeout` seconds.
        """
        result = self.start(request)
        self.finish(timeout)
        return result

    def read_output(self, timeout: float, since_s: float | None = None) -> None:
        """Wait for output of the running command and pass it to `on_output`.

        Raises AgentError if the command has ended, NoAnswer if it is silent for `timeout` seconds.
        They are counted as by `finish`.
        """
        left = timeout if since_s is None else max(0.0, since_s + timeout - time.monotonic())
        if not self._frames and not self._readable(left):
            raise NoAnswer(f"no sign of life within {timeout:g} s", self.label)
        if self.poll_done():
            raise AgentError(f"it ended: {shown(self._result.raw)}", self.label)

    def poll_done(self, on_event: Callable[[Event], None] | None = None) -> bool:
        """Process received frames; return True if the request has ended.

        Events are passed to `on_event`. Blocks in at most one read. Raises AgentError if the
        request failed.
        """
        if not self._frames:
            self._hold(self._receive())
        while self._frames:
            frame = self._frames.next()
            if frame.kind != FrameKind.MESSAGE:
                self._keep(frame)
                continue
            message = self._parsed(frame)
            if "done" in message:
                self._result.raw = object_of(message["done"])
                return True
            if on_event is not None:
                on_event(self._event(message))
        return False

    def check(self) -> bool:
        """Read what has come of a request that goes on until it is stopped; never wait for more.

        Raises AgentError if the request has failed or ended by itself, or the agent died.
        """
        while self._readable(0):
            for frame in self._receive():
                if frame.kind == FrameKind.MESSAGE:
                    message = self._parsed(frame)
                    if "done" in message:
                        self._result.raw = object_of(message["done"])
                        raise AgentError(ended_by_itself(self._result), self.label)
                if frame.kind == FrameKind.TABLE:
                    self._keep(frame)
                else:
                    self._hold([frame])
        return True

    @property
    def _op(self) -> str:
        return self._result.request.op

    def _event(self, message: dict[str, object]) -> Event:
        try:
            return Event.model_validate(message.get("event", {}))
        except ValidationError as error:
            why = error.errors()[0]["msg"]
            what = f"does not speak the protocol: it sent a malformed event: {why}"
            raise AgentError(what, self.label) from None

    def _message(self, timeout: float | None, since_s: float) -> dict[str, object]:
        """Return the next message; raise NoAnswer `timeout` seconds after `since_s`."""
        deadline = None if timeout is None else since_s + timeout
        while True:
            # Events show that an agent lives, but not that its answer will come.
            if deadline is not None and time.monotonic() > max(deadline, self._kept_s) + FRAME_S:
                raise NoAnswer(f"{self._op}: no answer within {timeout:g} s", self.label)
            while self._frames:
                frame = self._frames.next()
                if frame.kind == FrameKind.MESSAGE:
                    return self._parsed(frame)
                self._keep(frame)
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not self._readable(left):
                raise NoAnswer(f"{self._op}: no answer within {timeout:g} s", self.label)
            self._hold(self._receive())

    def _parsed(self, frame: Frame) -> dict[str, object]:
        """Return a message; raise AgentError for a failure, or for what is no message.

        The agent in a guest is the guest's: it may send anything.
        """
        self._result.join_output()
        try:
            message = parsed(frame, self._result.request.largest)
        except ValueError as error:
            what = f"does not speak the protocol: it sent a malformed message: {error}"
            raise AgentError(what, self.label) from None
        if "error" in message:
            raise failure_of(object_of(message["error"]), self.label)
        return message

    def _hold(self, frames: Iterable[Frame]) -> None:
        """Keep frames until they are read; raise AgentError if there are too many of them."""
        try:
            self._frames.put(frames)
        except ValueError as error:
            raise AgentError(str(error), self.label) from None

    def _keep(self, frame: Frame) -> None:
        if frame.payload:
            self._kept_s = time.monotonic()
        if frame.kind == FrameKind.TABLE:
            self._result.keep_table(frame.payload)
        elif self.on_output is not None:
            self.on_output(frame)
        else:
            self._result.keep_output(frame)
            if not self._frames:
                self._result.join_output()

    def _check_open(self) -> None:
        if self._closed:
            raise AgentGone("the session is closed", self.label)

    def _readable(self, timeout: float | None) -> bool:
        return readable(self, timeout)

    def _receive(self) -> list[Frame]:
        self._check_open()
        data = self._stream.read(_CHUNK)
        if not data:
            raise self._gone()
        try:
            frames = self._decoder.feed(data)
        except ValueError as error:
            raise AgentError(f"does not speak the protocol: {error}", self.label) from None
        self._check_part(complete=bool(frames))
        return [frame for frame in frames if not self._is_of_window(frame)]

    def _check_part(self, *, complete: bool) -> None:
        """Raise AgentError if the frame that has begun has taken too long.

        Each byte of it is a sign of life, so that no other limit would end a wait for its last.
        """
        now_s = time.monotonic()
        if not self._decoder.has_part:
            self._part_since_s = math.inf
        elif complete or self._part_since_s == math.inf:
            self._part_since_s = now_s
        elif now_s - self._part_since_s > FRAME_S:
            what = f"does not speak the protocol: a frame took more than {FRAME_S:.0f} s"
            raise AgentError(what, self.label)

    def _is_of_window(self, frame: Frame) -> bool:
        """Return True for a `used` event of the window of standard input, after counting it.

        No caller waits for such an event, so these frames are filtered out.
        """
        if frame.kind != FrameKind.MESSAGE or not self._under_way:
            return False
        used = (event_of(frame) or {}).get("used")
        if not isinstance(used, int):
            return False
        self._under_way -= min(max(used, 0), self._under_way)
        return True

    def _send(self, message: Mapping[str, object]) -> None:
        self._write(Frame(FrameKind.MESSAGE, json.dumps(message).encode()))

    def _write(self, frame: Frame) -> None:
        self._check_open()
        data = memoryview(frame.encode())
        try:
            while data:
                data = data[self._stream.write(data) :]
        except TimeoutError as error:
            raise NoAnswer(str(error), self.label) from None
        except (BrokenPipeError, ConnectionResetError):
            raise self._last_words() from None

    def _last_words(self) -> AgentError:
        """Return the agent's error message from before it closed the stream, or AgentGone."""
        try:
            self._message(0, time.monotonic())
        except (AgentGone, NoAnswer):
            pass
        except AgentError as error:
            return error
        return self._gone()

    def _gone(self) -> AgentGone:
        why = self._stream.why_ended() or f"the agent died during {self._op!r}"
        return AgentGone(why, self.label)
