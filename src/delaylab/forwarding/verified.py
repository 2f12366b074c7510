"""A comparison of all tables with the right ones that follows every change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from delaylab.forwarding.judged import JudgedPrefixes
from delaylab.forwarding.tables import Change, Difference, Hops, Table, TableChange, differences
from delaylab.forwarding.until import Until

NAMED = 3
"""The most wrong routes that are named."""


@dataclass(frozen=True)
class TablesVerdict:
    """The judgement on all tables after an event.

    `right_ns` is when they became right, None if they did not; then `wrong` names some of the
    routes that were wrong to the end. `unforeseen` says why it is not known which ones are right.
    With `quiet_ns` the rule is that no table changes for so long, whatever is right; `is_quiet`
    says whether that came in time.
    """

    right_ns: int | None = None
    wrong: str | None = None
    unforeseen: str | None = None
    quiet_ns: int | None = None
    is_quiet: bool = True

    @property
    def until(self) -> Until:
        """Return the convergence rule: all tables right, or none changed for a time."""
        return Until(self.quiet_ns, self.unforeseen)

    def __str__(self) -> str:
        """Return why the tables did not become right; nothing if they did."""
        if self.unforeseen is not None:
            return f"not known: {self.unforeseen}"
        late = "not in time" if self.wrong is None else f"not in time: {self.wrong}"
        return late if self.right_ns is None else ""


class Verified:
    """The places where tables are not as expected, kept true by `take`.

    A prefix that is `judged` and that nobody expects is a difference, too. `by_node` has the number
    of wrong routes of each node.
    """

    def __init__(
        self,
        expected: Mapping[str, Mapping[str, Hops]],
        tables: Mapping[str, Mapping[str, Hops]],
        judged: JudgedPrefixes,
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
            (difference.node, difference.prefix)
            for difference in differences(expected, self._tables)
            if self._is_judged(difference.prefix)
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

    @property
    def in_words(self) -> str | None:
        """Return how many routes are wrong, and some of them; None if all are right."""
        if self.is_right:
            return None
        named = "; ".join(map(str, self.examples(NAMED)))
        which = "1 route is" if self.wrong == 1 else f"{self.wrong} routes are"
        return f"{which} wrong{', such as' if self.wrong > NAMED else ':'} {named}"

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
