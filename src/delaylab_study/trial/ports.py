"""Ports and identifiers by which a probe's packets are known."""

from __future__ import annotations

from delaylab.api.services import PORTS
from delaylab_study.study_file.probe import FIRST_SOURCE_PORT, ProbeSpec

PORT = 8462
"""The port of delaylab's responder, unless the probe has one."""


def identifier(probe: ProbeSpec, probe_id: int) -> int:
    """Return a probe's ICMP identifier or UDP source port, from 33000 to 52999.

    No such port is privileged. Where ports tell packets apart it is that of the first packet.
    """
    return FIRST_SOURCE_PORT if probe.by_port else 33_000 + probe_id % 20_000


def port(probe: ProbeSpec) -> int:
    """Return the port that packets are sent to."""
    usual = PORTS.get(probe.protocol) if probe.answered_by_service else None
    return probe.port or usual or PORT
