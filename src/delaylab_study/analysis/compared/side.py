"""One side of a comparison: a whole dataset, or the trials of one level in it."""

from __future__ import annotations

from dataclasses import dataclass

from delaylab_study.analysis.group import Group
from delaylab_study.dataset.store import Study


@dataclass(frozen=True, slots=True)
class Side:
    """Groups of a dataset that are compared with those of another side.

    `factor` is the one whose level sets the side apart from the other side of the same dataset; it
    is empty if the side is a whole dataset.
    """

    name: str
    study: Study
    groups: list[Group]
    factor: str = ""

    @property
    def short(self) -> str:
        """Return the level alone, as the name in a drawing with the factor in its title."""
        return self.name.removeprefix(f"{self.factor}=") if self.factor else self.name

    @property
    def at(self) -> str:
        """Return the side as an adverb: `before`, `after`, or `with kind=lxc`."""
        return f"with {self.name}" if self.factor else self.name

    def levels(self, group: Group) -> dict[str, str]:
        """Return the levels that may differ between the groups of one side."""
        return {f: level for f, level in group.factors.items() if f != self.factor}
