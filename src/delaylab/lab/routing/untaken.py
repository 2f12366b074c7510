"""Lines of FRR's configuration that no daemon of a router took, by what the daemons printed."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping

from delaylab.lab.programs import programs
from delaylab.lab.running import LiveLab
from delaylab.records.doubts import Doubt, DoubtKind, doubt
from delaylab.routing import frr, frr_parts
from delaylab.routing.node_programs import NodePrograms

READ_S, LOOK_EVERY_S = 10.0, 0.05
"""Seconds that a daemon has to read its file, and seconds between two looks at its output."""
NAMED = 3
"""The most routers that a note names."""


def notes(lab: LiveLab, daemons: Mapping[str, NodePrograms]) -> list[Doubt]:
    """Return a note for each line of the user's that no daemon took; call it after their start.

    Routers that share a line share its note.
    """
    routers: dict[str, list[str]] = defaultdict(list)
    for name, made in daemons.items():
        if made.read_at_line is not None:
            for text in _of_router(lab, name, made, made.read_at_line):
                routers[text].append(name)
    return [
        doubt(DoubtKind.FABRIC, f"{_names(nodes)}: {text}", "correct it, or leave it out")
        for text, nodes in routers.items()
    ]


def _of_router(lab: LiveLab, name: str, made: NodePrograms, last: int) -> Iterator[str]:
    """Yield a sentence for each line that no daemon of a router took."""
    complaints: dict[str, frozenset[int]] = {}
    for program in made.programs:
        found = _complaints(lab, name, program.called, last)
        if found is None:
            yield f"{program.called} did not say which lines of {frr.CONFIG} it took"
            return
        complaints[program.called] = found
    given = lab.spec.nodes[name].files.get(frr.CONFIG) or made.files[frr.CONFIG]
    for each in frr_parts.untaken(given.content, complaints.keys(), complaints):
        yield f"no daemon took {each} of {frr.CONFIG}"


def _complaints(lab: LiveLab, node: str, program: str, last: int) -> frozenset[int] | None:
    """Return the lines that a daemon complained of; None if it did not come to the last one."""
    until = time.monotonic() + READ_S
    while True:
        printed = programs.output(lab, node, program).decode(errors="replace")
        found = frr_parts.complaints(printed)
        if last in found:
            return found
        if time.monotonic() > until:
            return None
        time.sleep(LOOK_EVERY_S)


def _names(nodes: list[str]) -> str:
    more = f" and {len(nodes) - NAMED} more" if len(nodes) > NAMED else ""
    return ", ".join(nodes[:NAMED]) + more
