"""The states of routers over time: their tables right or wrong, or part of a loop."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from delaylab.forwarding.fates import Interval

SECOND_NS = 10**9


@dataclass(frozen=True)
class RouterState:
    """The state of a router for a time, in s since an event: `wrong` or `looping`.

    At all other times its table was right.
    """

    router: str
    begin_s: float
    end_s: float
    state: str


def states_of(
    wrong: Iterable[tuple[int, str, int]],
    intervals: Iterable[Interval],
    first_ns: int,
    end_ns: int,
) -> list[RouterState]:
    """Return when routers had wrong routes, and when they could be part of a loop.

    `wrong` has the number of a router's wrong routes from a time on, by time. Times before
    `first_ns` and after `end_ns` are cut off.
    """
    found: list[RouterState] = []

    def add(router: str, begin_ns: int, until_ns: int, state: str) -> None:
        begin_s, end_s = (
            (min(max(at, first_ns), end_ns) - first_ns) / SECOND_NS for at in (begin_ns, until_ns)
        )
        if end_s > begin_s:
            found.append(RouterState(router, begin_s, end_s, state))

    since: dict[str, int] = {}
    for at_ns, router, count in wrong:
        if count:
            since.setdefault(router, at_ns)
        elif router in since:
            add(router, since.pop(router), at_ns, "wrong")
    for router, begun_ns in since.items():
        add(router, begun_ns, end_ns, "wrong")
    for each in intervals:
        if each.kind == "loop":
            for router in sorted(each.nodes):
                add(router, each.begin_ns or first_ns, each.end_ns or end_ns, "looping")
    return found
