"""Benchmark of the time from asking for a lab to the first replies in it, by kind of node."""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benches.containers import running_engine
from benches.pair import NEAR, probe
from benches.section import Section
from delaylab.errors import DelaylabError
from delaylab.kinds import KINDS
from delaylab.lab.start import temporary
from delaylab.machines import LOCAL
from delaylab.resolve.lab import Lab
from delaylab.resolve.resolve import lab_from_data
from delaylab_study.trial.frames import frame

ROUNDS = 5
MEMORY = "168MiB"


@dataclass(frozen=True)
class Case:
    """Guests of a kind in one lab. `engine`: Docker's engine runs before the lab is started."""

    title: str
    kind: str
    count: int
    rounds: int
    more: tuple[tuple[str, str], ...] = ()
    engine: bool = False

    def spec(self) -> Lab:
        """Return the guests on one link with a namespace that answers them."""
        guests = {f"g{i}": {"kind": self.kind, **dict(self.more)} for i in range(self.count)}
        return lab_from_data(
            {
                "lab": "guests",
                "nodes": {NEAR: {}, **guests},
                "links": [{"join": [NEAR, *guests], "name": "lan"}],
            }
        )


UML = (("memory", MEMORY),)
TCG = (("memory", MEMORY), ("accel", "tcg"))
CASES = (
    Case("netns", "netns", 1, ROUNDS),
    Case("lxc", "lxc", 1, ROUNDS),
    Case("docker, engine runs", "docker", 1, ROUNDS, engine=True),
    Case("docker, engine of the lab's own", "docker", 1, ROUNDS),
    Case("uml", "uml", 1, ROUNDS, UML),
    Case("uml", "uml", 8, 2, UML),
    Case("uml", "uml", 16, 2, UML),
    Case("qemu (TCG), virtio", "qemu", 1, ROUNDS, TCG),
    Case("qemu (TCG), e1000", "qemu", 1, ROUNDS, (*TCG, ("nic", "e1000"))),
    Case("qemu (TCG), virtio", "qemu", 8, 2, TCG),
    Case("qemu (TCG), virtio", "qemu", 16, 2, TCG),
)


def run() -> Section:
    """Measure one guest of each kind, then many at once, each lab from nothing."""
    section = Section(
        "guests",
        "From nothing to the first reply",
        "From asking for a lab until an echo request of every guest in it has been answered, by a "
        f"namespace on the same link. Images are in the cache; a machine has {MEMORY}. Medians.",
        ("kind", "at once", "rounds", "first replies, s", "slowest, s", "s per guest", "down, s"),
    )
    for case in CASES:
        reason = KINDS[case.kind].can_run(LOCAL.rights(), False)
        if reason:
            section.notes.append(f"Not measured: {case.title}: {reason}.")
        else:
            section.rows.append(_row(case))
    return section


def _row(case: Case) -> tuple[str, ...]:
    with ExitStack() as stack:
        if case.engine:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="dl-"))
            stack.enter_context(running_engine(Path(folder)))
        _round(case)  # builds the images; the engine gets its own
        ups, downs = zip(*(_round(case) for _ in range(case.rounds)), strict=True)
    up = median(ups)
    numbers = (f"{up:.2f}", f"{max(ups):.2f}", f"{up / case.count:.2f}", f"{median(downs):.2f}")
    return case.title, str(case.count), str(case.rounds), *numbers


def _round(case: Case) -> tuple[float, float]:
    """Return the seconds until the last guest's first reply, and until the lab is down."""
    began = time.monotonic()
    with temporary(case.spec(), accounting=False) as lab:
        near = lab.plan.nodes[NEAR].attachments[0].address
        for number in range(case.count):
            fields: dict[str, Any] = {"count": 1, "interval_ns": 1_000_000, "realtime": False}
            packets = frame(probe(lab, near, sender=f"g{number}", **fields), "packets")
            if packets["outcome"].to_list() != ["replied"]:
                raise DelaylabError(f"the first packet was {packets['outcome'][0]}", f"g{number}")
        up = time.monotonic()
    return up - began, time.monotonic() - up
