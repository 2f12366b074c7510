"""Frames that have come and that nobody has read yet: at most so many bytes of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from delaylab.agent.frames import MAX_PAYLOAD, Frame
from delaylab.agent.messages import ends

MOST_WAITING = 2 * MAX_PAYLOAD
"""The most bytes of frames that wait until somebody asks for them."""
FRAME_BYTES = 200
"""The bytes that a frame takes without its payload."""


class WaitingFrames:
    """A queue of frames, in the order in which they came.

    `has_end` is True once the end of the request has come.
    """

    def __init__(self) -> None:
        self._frames, self._bytes = deque[Frame](), 0
        self.has_end = False

    def __bool__(self) -> bool:
        """Return True if a frame waits."""
        return bool(self._frames)

    def put(self, frames: Iterable[Frame]) -> None:
        """Add frames; raise ValueError if too much waits then."""
        for frame in frames:
            self._frames.append(frame)
            self.has_end = self.has_end or ends(frame)
            self._bytes += len(frame.payload) + FRAME_BYTES
            if self._bytes > MOST_WAITING:
                raise ValueError(f"it sent more than {MOST_WAITING >> 20} MiB unasked")

    def next(self) -> Frame:
        """Return the first frame and remove it."""
        frame = self._frames.popleft()
        self._bytes -= len(frame.payload) + FRAME_BYTES
        return frame
