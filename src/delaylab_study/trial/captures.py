"""Captures of a trial's packets: files that agents here write, and what others send at the end."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from delaylab.api.agents import Frame, FrameKind
from delaylab.api.files import own_folder
from delaylab.api.records import Doubt, DoubtKind, doubt

MOST_BYTES = 64 << 20
"""The most bytes that an agent on another machine keeps: 40 000 packets of 1500 bytes."""


@dataclass
class CaptureFile:
    """A capture that an agent sends as output, and its file here."""

    file: Path
    room: int = MOST_BYTES

    def __call__(self, frame: Frame) -> None:
        """Append a frame of output; what is beyond the most bytes was not asked for."""
        if frame.kind == FrameKind.STDOUT:
            with self.file.open("ab") as file:
                file.write(frame.payload[: self.room])
            self.room -= min(self.room, len(frame.payload))


def file_of(folder: Path, agent: str) -> Path:
    """Return the path of an agent's capture in a folder, where nothing is yet."""
    own_folder(folder)
    found = folder.resolve() / f"{agent}.pcapng"
    found.unlink(missing_ok=True)  # writing would follow a link
    return found


def cut(agent: str, packets: int) -> Doubt:
    """Return the doubt about a capture that ran out of room."""
    return doubt(
        DoubtKind.CAPTURE_CUT,
        f"the capture of {agent} ends after {MOST_BYTES >> 20} MiB: {packets} packets are missing",
        "capture fewer or smaller packets on other machines; stamps are not affected",
        packets=packets,
    )
