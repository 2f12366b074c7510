"""Machines are asked at once: what `up` waits for does not grow with their number.

Time is counted in round trips: an answer comes one after its question was sent, whatever the load
of this machine. Questions that are under way together are answered at the same time.
"""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from delaylab.agent.session import Session
from delaylab.lab import over_machines, running
from delaylab.lab.attach import attach
from delaylab.lab.links import link_engines
from delaylab.lab.start import starting
from delaylab.machines import building, clusters, running_labs
from delaylab.machines.connection import Connection
from delaylab.resolve.lab import Lab
from delaylab.resolve.resolve import lab_from_data
from delaylab.verbs import labs
from tests.doing.machines.ssh_machines import NEEDED, Lan, lan

pytestmark = NEEDED
NAMES = ["m1", "m2", "m3", "m4"]
MOST_TURNS = 18
"""The most round trips of `up` after ssh has logged in, one after the other. Three of them try the
ways between machines by frames."""
MOST_OF_PS = 6


@pytest.fixture(scope="module")
def four() -> Iterator[Lan]:
    """Four machines; this process reaches them by ssh from the user's machine."""
    with tempfile.TemporaryDirectory(prefix="dlm-") as folder, lan(Path(folder), NAMES) as made:
        ssh = made.folder / "bin" / "ssh"
        enter = f"exec nsenter --net={made.network} /usr/bin/ssh"
        ssh.write_text(ssh.read_text().replace("exec /usr/bin/ssh", enter))
        yield made


class Turns:
    """A clock that counts round trips over ssh."""

    def __init__(self, patched: pytest.MonkeyPatch) -> None:
        self.now = 0
        self._sent: dict[Session, int] = {}
        begin, finish, poll, open_ = (
            Session.start,
            Session.finish,
            Session.poll_done,
            Connection.open,
        )

        def opened(connection: Connection, *given: Any) -> Session:
            session = open_(connection, *given)
            self._sent[session] = self.now
            return session

        def started(session: Session, request: Any) -> Any:
            if session in self._sent:
                self._sent[session] = self.now
            return begin(session, request)

        def finished(session: Session, *given: Any, **more: Any) -> None:
            finish(session, *given, **more)
            self._answered(session)

        def polled(session: Session, *given: Any) -> bool:
            ended = poll(session, *given)
            if ended:
                self._answered(session)
            return ended

        patched.setattr(Connection, "open", opened)
        patched.setattr(Session, "start", started)
        patched.setattr(Session, "finish", finished)
        patched.setattr(Session, "poll_done", polled)
        for module in (over_machines, link_engines, running, building, clusters):
            patched.setattr(module, "side_by_side", self._side_by_side)

    def _answered(self, session: Session) -> None:
        if session in self._sent:
            self.now = max(self.now, self._sent[session] + 1)

    def _side_by_side(self, call: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        """Call the function for one item after the other, each from the same time on."""
        began, ends, found = self.now, [self.now], []
        for item in items:
            self.now = began
            found.append(call(item))
            ends.append(self.now)
        self.now = max(ends)
        return found


def mesh(names: list[str], data_plane: str) -> Lab:
    pairs = list(combinations(names, 2))
    return lab_from_data(
        {
            "lab": f"mesh{len(names)}",
            "data_plane": data_plane,
            "machines": {name: {"ssh": name} for name in names},
            "hosts": {f"h-{name}": {"machine": name} for name in names},
            "nodes": {f"n-{name}": {"host": f"h-{name}"} for name in names},
            "links": [{"between": [f"n-{a}", f"n-{b}"], "delay": "500ms"} for a, b in pairs],
        }
    )


def turns_of_up(names: list[str], data_plane: str, patched: pytest.MonkeyPatch) -> tuple[int, int]:
    """Return the round trips of `up` and of `ps` of a mesh over machines."""
    turns = Turns(patched)
    spec = mesh(names, data_plane)
    with starting(spec) as lab:
        labs.described(lab)
    of_up, turns.now = turns.now, 0
    labs.described(attach(spec.name))
    of_ps = turns.now
    for each in running_labs():
        each.take_down()
    return of_up, of_ps


@pytest.mark.parametrize("data_plane", ["vxlan", "ethernet"])
def test_more_machines_and_links_take_no_more_round_trips(
    four: Lan, monkeypatch: pytest.MonkeyPatch, data_plane: str
) -> None:
    monkeypatch.setenv("PATH", four.environment["PATH"])
    found = {}
    for names in (NAMES[:2], NAMES):
        with monkeypatch.context() as patched:
            found[len(names)] = turns_of_up(names, data_plane, patched)
    assert found[4] == found[2], found
    up, ps = found[2]
    assert 0 < up <= MOST_TURNS, found
    assert 0 < ps <= MOST_OF_PS, found
    gc.collect()  # this process still holds the connections of the labs, which are in circles
    four.wait_until_gone()
