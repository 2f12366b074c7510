"""The state of each machine of a lab, recorded during a trial."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import polars as pl

from delaylab.api.agents import Result, Session, Watch, WatchPlace
from delaylab.api.agents import WatchDone as Watched
from delaylab.api.machines import Machine, OtherClock
from delaylab.api.names import AgentName
from delaylab.api.running import LiveLab
from delaylab_study.trial.frames import frame

INTERVAL_NS = 100_000_000
READY_S = 20


@dataclass(frozen=True)
class MachineStates:
    """The recorders of all machines, by the machines' names, this one first.

    `ahead_ns` is how far the clocks of the others were ahead of this machine's when the record
    began, at most half of a round trip over ssh wrong.
    """

    recorders: dict[str, tuple[Session, Result[Watched]]]
    ahead_ns: dict[str, int]

    @property
    def sessions(self) -> list[Session]:
        """Return the sessions that record."""
        return [session for session, _ in self.recorders.values()]

    @property
    def table(self) -> pl.DataFrame:
        """Return the table `hosts`, once the recorders have stopped."""
        return pl.concat(
            frame(result, "hosts").with_columns(pl.lit(name).alias("machine"))
            for name, (_, result) in self.recorders.items()
        )


@contextmanager
def recording_machines(lab: LiveLab, followed: str | None = None) -> Iterator[MachineStates]:
    """Record the state of all machines; the recorders are ready when the block begins.

    The recorder of the `followed` machine reports each sample at once.
    """
    others = [machine for machine in lab.machines.values() if machine is not lab.machine]
    with ExitStack() as stack:
        recorders, ahead_ns = {}, {}
        for machine in (lab.machine, *others):
            session = machine.session()
            stack.callback(session.close)
            if machine is not lab.machine:
                ahead_ns[machine.name] = OtherClock(session).ahead_ns()
            parts_ns = INTERVAL_NS // 2 if machine.name == followed else None
            places = _places(lab, machine)
            request = Watch(interval_ns=INTERVAL_NS, places=places, parts_ns=parts_ns)
            recorders[machine.name] = session, session.start(request)
        for session, _ in recorders.values():
            session.event(READY_S)
        yield MachineStates(recorders, ahead_ns)


def _places(lab: LiveLab, machine: Machine) -> list[WatchPlace]:
    """Return the places to sample on a machine: its agents."""
    return [
        WatchPlace(AgentName(name).place, agent.pid, agent.cgroups)
        for name, agent in lab.keeper.agents.items()
        if lab.machine_of(name) is machine
    ]
