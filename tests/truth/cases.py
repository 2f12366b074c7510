"""The causes that are injected, and what must be named for each."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen

from delaylab.causes.explained import Explained
from delaylab.causes.holds import OF_LINKS
from delaylab.causes.pieces import Cause
from delaylab.causes.shares import CauseShare
from tests.truth.scene import (
    ENGINE_CPU,
    RESPONDER_CPU,
    SENDER_CPU,
    Scene,
    group_of,
    injector,
)

LINK: dict[str, object] = {"name": "line", "delay": "1ms"}
INJECTOR = "inject"
"""The start of the names of the programs that inject."""
SLOW: dict[str, object] = {"name": "line", "rate": "10Mbit", "queue": "1MiB"}
SHORT: dict[str, object] = {"name": "line", "rate": "10Mbit", "queue": "20KiB"}
SENDING = ("burst", "overflow", "softirq", "buffer", "backlog")
"""Causes that are injected by sending frames."""
DELAYLAB = str(Path(sys.executable).with_name("delaylab"))
CPUS = f"{SENDER_CPU}", f"{RESPONDER_CPU}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A cause: how it is injected, and by which cause and program it must be named.

    `by` is the start of the name of the program that is to blame, "" if there is none. `place` is
    the part of the lab that was kept waiting, or the link that held the packet. If the injector
    `serves`, it answers the packets itself, as a program of the second node; `also` are causes that
    its own log counts as well, such as what it computes in the kernel while it writes. Injections
    are so much apart, and up to half of that; there are so many times `fewer` of them.
    """

    name: str
    what: str
    argument: Callable[[Scene], str]
    cause: Cause
    place: str
    by: str = INJECTOR
    link: dict[str, object] | None = None
    realtime: bool = True
    responder_cpu: int = RESPONDER_CPU
    serves: bool = False
    also: frozenset[Cause] = frozenset()
    kind: str = "netns"
    spacing_ns: int = 100_000_000
    fewer: int = 1

    def blames(self, share: CauseShare, found: Explained) -> bool:
        """Return True if a share names this cause, who it was, and who was kept waiting."""
        if share.cause in OF_LINKS:
            return share.cause == self.cause and share.where.startswith(self.place)
        by, of = found.tasks.get(share.task), found.tasks.get(share.of)
        return (
            share.cause == self.cause
            and (not self.by or (by is not None and by.name.startswith(self.by)))
            and of is not None
            and of.place == self.place
        )

    def counts(self, share: CauseShare, found: Explained) -> bool:
        """Return True for a share of what the injector's log has, whatever is to blame for it."""
        of = found.tasks.get(share.of)
        also = share.cause in self.also and of is not None and of.place == self.place
        return also or self.blames(share, found)

    @contextmanager
    def injected(self, made: Scene) -> Iterator[Popen[str]]:
        """Have the program that injects it, ready for its plan."""
        if self.what == "quota":
            with (
                group_of("cpu", [made.responder_pid]) as group,
                injector(self.what, str(group)) as started,
            ):
                (group / "cgroup.procs").write_text(str(started.pid))
                yield started
            return
        with ExitStack() as stack:
            argument = self.argument(made)
            if self.what == "memory":
                argument = f"{stack.enter_context(group_of('memory', []))} {argument}"
            within: Sequence[str] = ()
            if self.serves:
                within = (DELAYLAB, "exec", "--lab", made.lab.name, "two", "--")
            elif self.what in SENDING:
                # Its frames are sent by another program of the sender's node.
                within = ("nsenter", "--target", str(made.sender_pid), "--net")
            yield stack.enter_context(injector(self.what, argument, within))


def _engine(made: Scene) -> str:
    assert made.engine_pid is not None
    return str(made.engine_pid)


CASES = (
    Case(
        name="real-time program on the sender's CPU",
        what="fifo",
        argument=lambda _: CPUS[0],
        cause=Cause.HELD,
        place="node.one",
    ),
    Case(
        name="real-time program on the responder's CPU",
        what="fifo",
        argument=lambda _: CPUS[1],
        cause=Cause.HELD,
        place="node.two",
    ),
    Case(
        name="responder stopped",
        what="stop",
        argument=lambda made: str(made.responder_pid),
        cause=Cause.STOPPED,
        place="node.two",
    ),
    Case(
        name="responder's group out of quota",
        what="quota",
        argument=lambda _: "",
        cause=Cause.QUOTA,
        place="node.two",
        by="",
        realtime=False,
    ),
    Case(
        name="ordinary program on the responder's CPU",
        what="normal",
        argument=lambda _: CPUS[1],
        cause=Cause.HELD,
        place="node.two",
        realtime=False,
    ),
    Case(
        name="ordinary program on the sender's CPU",
        what="normal",
        argument=lambda _: CPUS[0],
        cause=Cause.HELD,
        place="node.one",
        realtime=False,
    ),
    Case(
        name="link engine stopped",
        what="stop",
        argument=_engine,
        cause=Cause.STOPPED,
        place="link.here",
        link=LINK,
    ),
    Case(
        name="real-time program on the link engine's CPU",
        what="fifo",
        argument=lambda _: str(ENGINE_CPU),
        cause=Cause.HELD,
        place="link.here",
        link=LINK,
        responder_cpu=SENDER_CPU,
    ),
    Case(
        name="link's delay changed",
        what="delay",
        argument=lambda made: made.lab.name,
        spacing_ns=1_000_000_000,
        fewer=4,
        cause=Cause.DELAY,
        place="link line",
        by="",
        link=LINK,
    ),
    Case(
        name="link's queue filled by another program",
        what="burst",
        argument=lambda made: made.to,
        cause=Cause.QUEUE,
        place="link line from one",
        by="",
        link=SLOW,
    ),
    Case(
        name="link's rate changed",
        what="rate",
        argument=lambda made: made.lab.name,
        spacing_ns=1_000_000_000,
        fewer=4,
        cause=Cause.RATE,
        place="link line",
        by="",
        link=SLOW,
    ),
    Case(
        name="many timers at once on the responder's CPU",
        what="timers",
        argument=lambda _: CPUS[1],
        cause=Cause.INTERRUPT,
        place="node.two",
        by="",
        spacing_ns=200_000_000,
    ),
    Case(
        name="another node's frames on the responder's CPU",
        what="softirq",
        argument=lambda made: f"{made.responder_pid} {made.to} {made.interface} {CPUS[1]}",
        cause=Cause.SOFTIRQ,
        place="node.two",
        by="",
        spacing_ns=200_000_000,
    ),
    Case(
        name="server waits for its disk",
        what="disk",
        argument=lambda _: CPUS[1],
        cause=Cause.BLOCKED,
        place="node.two",
        serves=True,
        also=frozenset({Cause.OWN}),
        by="",
    ),
    Case(
        name="server's group short of memory",
        what="memory",
        argument=lambda _: CPUS[1],
        cause=Cause.RECLAIM,
        place="node.two",
        serves=True,
        by="",
    ),
    Case(
        name="virtual CPU of the responder's machine stopped",
        what="stop",
        argument=lambda made: str(made.responder_pid),
        cause=Cause.STOPPED,
        place="node.two",
        kind="uml",
    ),
)
Together = Sequence[Case]
"""Causes that are injected at the same time, in the scene of the first one."""
_NAMED = {case.name: case for case in CASES}
PAIRS: Sequence[Together] = (
    (_NAMED["real-time program on the sender's CPU"], _NAMED["responder stopped"]),
    (_NAMED["link engine stopped"], _NAMED["real-time program on the sender's CPU"]),
)
SCENES: Sequence[Together] = (*((case,) for case in CASES), *PAIRS)


def name_of(cases: Together) -> str:
    """Return the name of causes that are injected together."""
    return ", and ".join(each.name for each in cases)
