"""Round trips of each kind of node at rest: as `doctor` measured them here, or else from a table.

`doctor` keeps what it measured in the folder of images, for this user, machine and kernel.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, PositiveFloat, ValidationError

from delaylab import images
from delaylab.errors import DelaylabError
from delaylab.io.files import read_text, write_new
from delaylab.machines.description import cpu_name

TABLE_US: Mapping[str, float] = {
    "native": 20,
    "shared": 30,
    "netns": 46,
    "lxc": 39,
    "docker": 34,
    "uml": 158,
    "qemu": 713,
    "xen": 7110,
}
"""Median user RTT of a node of each kind in µs, from docs/benchmarks.md, "What each kind of node
costs": 50 packets at rest to a namespace on another host, virtual machines emulated."""
UNKNOWN_US = 100.0
"""The round trip that is taken for a kind that the table lacks."""
LARGEST = 1 << 16


class _Kept(BaseModel):
    """One measured median, and its day."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    rtt_us: PositiveFloat
    day: date


class _Note(BaseModel):
    """Medians that `doctor` measured on one machine: its CPUs, its kernel, and a median by kind."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    cpu: str
    kernel: str
    kinds: dict[str, _Kept]


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """The median user RTT of a node of a kind at rest in µs, and where the figure is from.

    `day` is that of `doctor`'s measurement; None of a figure of the table.
    """

    kind: str
    rtt_us: float
    source: Literal["doctor", "table"]
    day: date | None = None


def of_kind(kind: str) -> RoundTrip:
    """Return the round trip of a kind: as it was measured here, else that of the table."""
    kept = _kept().kinds.get(kind)
    if kept is not None:
        return RoundTrip(kind, kept.rtt_us, "doctor", kept.day)
    return RoundTrip(kind, TABLE_US.get(kind, UNKNOWN_US), "table")


def keep(measured_us: Mapping[str, float]) -> None:
    """Keep medians by kind in place of earlier ones; a folder that cannot be written keeps none."""
    if not measured_us:
        return
    today = datetime.now(UTC).date()
    before = _kept()
    new = {kind: _Kept(rtt_us=found, day=today) for kind, found in measured_us.items()}
    note = before.model_copy(update={"kinds": before.kinds | new})
    with suppress(OSError, DelaylabError):
        place = _place()
        place.parent.mkdir(parents=True, exist_ok=True)
        write_new(place, note.model_dump_json(indent=1).encode())


def _kept() -> _Note:
    """Return what was kept of this machine; nothing if the file is damaged, or of another one."""
    empty = _Note(cpu=cpu_name(), kernel=os.uname().release, kinds={})
    try:
        note = _Note.model_validate_json(read_text(_place(), LARGEST))
    except (OSError, ValidationError, DelaylabError):
        return empty
    return note if (note.cpu, note.kernel) == (empty.cpu, empty.kernel) else empty


def _place() -> Path:
    return images.folder() / f"round-trips-{os.geteuid()}.json"
