"""State of time synchronisation on a machine, by what its daemon says: a witness of the clocks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from delaylab.api.agents import AgentError, Exec
from delaylab.api.files import one_line
from delaylab.api.machines import Machine
from delaylab_study.dataset.records.comparisons import TimeSync

CHRONY = ("chronyc", "-c", "tracking")
PTP4L = ("pmc", "-u", "-b", "0", "GET TIME_STATUS_NP")
LIMIT_S = 5.0
FIELDS = 14
"""The number of fields of `chronyc -c tracking` (chronyc(1))."""
NAME, OFFSET, ROOT_DELAY, ROOT_DISPERSION = 1, 4, 10, 11
"""The places of those fields that are read; times are in s."""


def time_sync(name: str, machine: Machine) -> Iterator[TimeSync]:
    """Yield what chrony and ptp4l say on a machine; nothing of a program that is not there."""
    for argv, read in ((CHRONY, chrony), (PTP4L, ptp4l)):
        text = _said(machine, argv)
        found = read(name, text) if text else None
        if found is not None:
            yield found


def chrony(machine: str, text: str) -> TimeSync | None:
    """Return chrony's state from `chronyc -c tracking`; None if it follows nothing."""
    fields = text.strip().split(",")
    if len(fields) != FIELDS or not fields[NAME]:
        return None
    try:
        offset, delay, dispersion = (
            float(fields[place]) for place in (OFFSET, ROOT_DELAY, ROOT_DISPERSION)
        )
    except ValueError:
        return None
    return TimeSync(
        machine=machine,
        program="chrony",
        source=one_line(fields[NAME]),
        offset_us=offset * 1e6,
        bound_us=(abs(offset) + delay / 2 + dispersion) * 1e6,
    )


def ptp4l(machine: str, text: str) -> TimeSync | None:
    """Return ptp4l's state from its TIME_STATUS_NP; None if it follows nothing."""
    offset = re.search(r"^\s*master_offset\s+(-?\d+)", text, re.MULTILINE)
    source = re.search(r"^\s*gmIdentity\s+(\S+)", text, re.MULTILINE)
    if offset is None or source is None or re.search(r"gmPresent\s+false", text):
        return None
    return TimeSync(
        machine=machine, program="ptp4l", source=source[1], offset_us=int(offset[1]) / 1000
    )


def _said(machine: Machine, argv: tuple[str, ...]) -> str:
    """Return what a program prints on a machine; empty if it is not there or fails."""
    session = machine.session()
    try:
        result = session.call(Exec(argv=argv), LIMIT_S)
    except AgentError:
        return ""
    finally:
        session.close()
    return result.stdout.decode(errors="replace") if result.done.exit == 0 else ""
