"""Ports and identifiers by which a probe's packets are known."""

from __future__ import annotations

from delaylab_study.study_file.model import FIRST_SOURCE_PORT, ProbeSpec

PORT = 8462
"""The responder's UDP port, and its TCP port unless the probe has one."""


def identifier(probe: ProbeSpec, probe_id: int) -> int:
    """Return a probe's ICMP identifier or UDP source port, from 33000 to 52999.

    No such port is privileged. By TCP and HTTP it is the first of the probe's source ports.
    """
    return FIRST_SOURCE_PORT if probe.connects else 33_000 + probe_id % 20_000


def port(probe: ProbeSpec) -> int:
    """Return the responder's port."""
    return probe.port or PORT
