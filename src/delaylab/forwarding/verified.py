"""A comparison of all tables with the right ones that follows every change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from delaylab.forwarding.judged import Judged
from delaylab.forwarding.tables import Change, Difference, Hops, Table, TableChange, differences


class Verified:
    """The places where tables are not as expected, kept true by `take`.

    A prefix that is `judged` and that nobody expects is a difference, too. `by_node` has the number
    of wrong routes of each node.
    """

    def __init__(
        self,
        expected: Mapping[str, Mapping[str, Hops]],
        tables: Mapping[str, Mapping[str, Hops]],
        judged: Judged,
    ) -> None:
        self._is_judged = judged
        self._tables = tables
        self._expected = expected
        self._wrong: set[tuple[str, str]] = set()
        self.by_node: Counter[str] = Counter()
        self.expect(expected)

    def expect(self, expected: Mapping[str, Mapping[str, Hops]]) -> None:
        """Compare with other tables from now on, since the network has changed."""
        self._expected = expected
        self._wrong = {
            (each.node, each.prefix)
            for each in differences(expected, self._tables)
            if self._is_judged(each.prefix)
        }
        self.by_node = Counter(node for node, _ in self._wrong)

    @property
    def is_right(self) -> bool:
        """Return True if all tables are as expected."""
        return not self._wrong

    @property
    def wrong(self) -> int:
        """Return the number of routes that are not as expected."""
        return len(self._wrong)

    def take(self, changes: Iterable[Change]) -> int | None:
        """Follow changes that the tables have had; return when the tables became right, in ns.

        The time is that of the change after which they were; None if they were right before, or
        are not now.
        """
        became: int | None = None
        for change in changes:
            if not isinstance(change, TableChange) or not self._is_judged(change.prefix):
                continue
            table = self._expected.get(change.node)
            if table is None:
                continue
            key = (change.node, change.prefix)
            if table.get(change.prefix) == change.hops:
                if key in self._wrong:
                    self._wrong.discard(key)
                    self.by_node[change.node] -= 1
                    became = change.at_ns if not self._wrong else None
            else:
                self.by_node[change.node] += key not in self._wrong
                self._wrong.add(key)
                became = None
        return became

    def examples(self, most: int) -> list[Difference]:
        """Return some of the differences, in the order of nodes and prefixes."""
        return [
            Difference(
                node,
                prefix,
                self._expected[node].get(prefix),
                self._tables.get(node, Table()).get(prefix),
            )
            for node, prefix in sorted(self._wrong)[:most]
        ]
