"""The frames of the agent's protocol (docs/protocol.md, "Frames")."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

HEADER = struct.Struct("<IHB")
MAX_PAYLOAD = 64 << 20


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

    @property
    def has_part(self) -> bool:
        """Return True if a frame has begun that is not complete."""
        return bool(self._buffer)
