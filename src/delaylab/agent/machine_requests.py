"""Requests about a machine and the labs on it (docs/protocol.md), and their answers, as types.

They are for machines that are reached by ssh. Everything that such a machine answers is checked.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from delaylab.agent.frames import MAX_PAYLOAD
from delaylab.agent.replies import Count, Listed, Nothing, Reply, Text
from delaylab.agent.requests import Request
from delaylab.io.values import Message


class MachineFacts(Reply):
    """A machine, and the rights of this user there; memory and disk in bytes.

    `identity` is the same for two names of one machine until it restarts; `machine_id` and
    `host_keys` stay the same then. `capabilities` is a mask in hexadecimal.
    `connection` is sshd's `SSH_CONNECTION`: the client's address and port, then the machine's.
    """

    identity: Text
    machine_id: Text = ""
    host_keys: tuple[Text, ...] = ()
    hostname: Text
    kernel: Text
    user: Count
    capabilities: Text
    lacking: Listed[Text]
    cpu: Text
    cpus: Text
    memory_bytes: Count
    available_bytes: Count
    most_neighbours: Count | None = None
    run_directory: Text
    connection: Text
    free_bytes: Count


class FoundProcesses(Reply):
    """The start of each process in clock ticks, None if it has ended; the pid of each child."""

    started: Listed[Count | None]
    children: Listed[Count | None]


class StoredFiles(Reply):
    """The folder of files that are stored on a machine, and the names of those that are not."""

    folder: Text
    missing: Listed[Text]


class FoundLabs(Reply):
    """The labs that are up, by name: the content of `lab.json` of each."""

    labs: dict[str, JsonValue]


class FoundFiles(Reply):
    """The names in a lab's run directory."""

    names: Listed[Text]


class NotSwept(Reply):
    """An entry of the run directory that a sweep could not remove."""

    name: Text
    why: Text


class Swept(Reply):
    """The entries that a sweep left in the run directory."""

    foreign: Listed[Text]
    failed: Listed[NotSwept]


@dataclass(frozen=True, kw_only=True)
class Machine(Request[MachineFacts]):
    """Ask for a machine's facts, and which of these programs and devices it lacks."""

    op = "machine"
    reply = MachineFacts
    programs: Sequence[str] = ()
    devices: Sequence[str] = ()


@dataclass(frozen=True)
class Child(Message):
    """A child of the process `parent` that its own PID namespace numbers `inside`."""

    parent: int
    inside: int


@dataclass(frozen=True, kw_only=True)
class Processes(Request[FoundProcesses]):
    """Ask when processes were started, and for children by their number in a lab."""

    op = "processes"
    reply = FoundProcesses
    pids: Sequence[int] = ()
    children: Sequence[Child] = ()


@dataclass(frozen=True, kw_only=True)
class Stored(Request[StoredFiles]):
    """Ask where files of this machine are stored, and which of these are missing."""

    op = "stored"
    reply = StoredFiles
    names: Sequence[str]


class Labs(Request[FoundLabs]):
    """Ask for the labs of this user that are up."""

    op = "labs"
    reply = FoundLabs
    largest = MAX_PAYLOAD


@dataclass(frozen=True, kw_only=True)
class LabFiles(Request[FoundFiles]):
    """Ask for the names in a lab's run directory."""

    op = "lab-files"
    reply = FoundFiles
    lab: str


@dataclass(frozen=True, kw_only=True)
class EndLab(Request[Nothing]):
    """End a lab, and wait until it is gone; one that is not up is no error."""

    op = "end-lab"
    reply = Nothing
    lab: str


class Sweep(Request[Swept]):
    """Remove what killed keepers left."""

    op = "sweep"
    reply = Swept


def opening(lab: str | None = None, agent: str | None = None, *, keeper: bool = False) -> bytes:
    """Return the first message of a session with a machine, which says what the session is with.

    It is with an agent of a lab, with the keeper of a new lab, or else with a new agent.
    """
    if lab is not None:
        return json.dumps({"agent": {"lab": lab, "agent": agent}}).encode()
    return json.dumps("keeper" if keeper else "session").encode()
