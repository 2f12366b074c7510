"""Sections and states of analysed groups."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from delaylab_study.analysis.group import Group, GroupPackets


def of_packets(group: Group) -> GroupPackets:
    """Return the section on packets of a group that has one."""
    assert group.packets is not None
    return group.packets


def in_state(group: Group, **changes: Any) -> Group:
    """Return a group whose machine was in another state."""
    state = replace(group.machine.state, **changes)
    return replace(group, machine=replace(group.machine, state=state))
