"""Readiness of routing daemons: every forwarding table equals the shortest paths of the network."""

from __future__ import annotations

import time

from delaylab.errors import DelaylabError
from delaylab.forwarding.expected import expected_tables
from delaylab.forwarding.topology import parts
from delaylab.forwarding.verified import Verified
from delaylab.lab import programs
from delaylab.lab.faults import faults
from delaylab.lab.observer import Observer, observing
from delaylab.lab.ready_routers import Converged
from delaylab.lab.running import Lab
from delaylab.plan.routed_topology import static_prefixes, topology, why_unforeseen
from delaylab.progress import Progress, silent
from delaylab.spec.routing.model import RoutingSpec

LOOK_EVERY_S = 1.0
"""Seconds without a change after which daemons are asked whether they live."""
NAMED = 3
"""The most wrong routes that an error names."""


def await_converged(lab: Lab, began_s: float, progress: Progress = silent) -> Converged | None:
    """Wait until the tables of all routers with daemons are right; None if there are none.

    `began_s` is the monotonic time at which the daemons were started. Raises DelaylabError if a
    daemon has ended, or if the tables are not right in time.
    """
    settings = [
        spec.routing for spec in lab.spec.nodes.values() if isinstance(spec.routing, RoutingSpec)
    ]
    if not settings:
        return None
    unforeseen = why_unforeseen(lab.spec)
    if unforeseen is not None:
        return Converged(len(settings), 0.0, unforeseen)
    deadline_s = began_s + max(each.timeout.ns for each in settings) / 1e9
    progress(f"waiting for the routes of {len(settings)} routers", 0)
    network = topology(lab.spec, lab.plan)
    with observing(lab) as observer:
        wanted = expected_tables(network, faults(lab, daemons=False))
        found = Verified(wanted, observer.tables, static_prefixes(lab.spec, lab.plan))
        while not found.is_right:
            _follow(lab, observer, found, deadline_s)
    after_s = time.monotonic() - began_s
    return Converged(
        len(wanted), after_s, parts=tuple(tuple(sorted(each)) for each in parts(network))
    )


def _follow(lab: Lab, observer: Observer, found: Verified, deadline_s: float) -> None:
    """Take what has changed; raise DelaylabError if that cannot end well."""
    left_s = deadline_s - time.monotonic()
    changes = observer.changes(max(0.0, min(LOOK_EVERY_S, left_s)))
    found.take(changes)
    if changes or found.is_right:
        return
    for node, states in programs.states(lab).items():
        for program in states:
            if program.is_dead:
                what = (
                    f"program {program.name} of node {node} {program.how}, so there are no routes"
                )
                raise DelaylabError(what, f"node {node}", _last_words(lab, node, program.name))
    if left_s <= 0:
        first = "; ".join(map(str, found.examples(NAMED)))
        what = f"{found.wrong} routes are not those of the shortest paths in time: {first}"
        raise DelaylabError(what, fix="give the daemons more time: `routing: {timeout: 5min}`")


def _last_words(lab: Lab, node: str, program: str) -> str:
    """Return the last line that a program printed."""
    lines = programs.output(lab, node, program).decode(errors="replace").strip().splitlines()
    return f"its last output: {lines[-1]}" if lines else "it printed nothing"
