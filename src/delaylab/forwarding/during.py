"""The trouble of an event: what lasted into it or began after it, whoever caused it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from delaylab.forwarding.fates import Interval
from delaylab.forwarding.service import ServiceOutage

Trouble = TypeVar("Trouble", Interval, ServiceOutage)


@dataclass(frozen=True)
class During:
    """An event at `at_ns`, the node of each address, and the nodes that did not run.

    `off_before` did not run just before it, and `off` do not run after it.
    """

    at_ns: int
    owners: Mapping[str, str]
    off_before: Collection[str] = ()
    off: Collection[str] = ()

    def trouble(self, troubles: Iterable[Trouble]) -> list[Trouble]:
        """Return what lasted at the event or began after it, but for what is of nodes that are off.

        That of a node which began to run begins with the event: before it, nobody was to answer.
        """
        return [self._clipped(each) for each in troubles if self._is_there(each)]

    def _is_there(self, interval: Interval | ServiceOutage) -> bool:
        lasted = interval.end_ns is None or interval.end_ns >= self.at_ns
        return lasted and not self._nodes(interval) & {*self.off}

    def _clipped(self, trouble: Trouble) -> Trouble:
        earlier = trouble.begin_ns is None or trouble.begin_ns < self.at_ns
        if earlier and self._nodes(trouble) & {*self.off_before}:
            return replace(trouble, begin_ns=self.at_ns)
        return trouble

    def _nodes(self, interval: Interval | ServiceOutage) -> set[str]:
        own = interval.nodes if isinstance(interval, Interval) else {interval.source}
        return {*own, self.owners.get(interval.destination, "")}
