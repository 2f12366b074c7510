"""Checks that `delaylab doctor` makes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from rich.console import Console
from rich.text import Text


@dataclass(frozen=True)
class Check:
    """A check of one thing that a lab can need."""

    group: str
    name: str
    usable: bool
    detail: str = ""
    why_not: str = ""
    fix: str = ""
    measured: dict[str, float | None] = field(default_factory=dict)
    tried: bool = True

    def mark(self) -> Text:
        """Return `yes`, `no`, or `?` if it was not tried."""
        if not self.tried:
            return Text("?", "yellow")
        return Text("yes", "green") if self.usable else Text("no", "red")


class MoreChecks(Protocol):
    """Checks that another package adds to `doctor` (`extensions.Additions.CHECKS`)."""

    @property
    def GROUP(self) -> str:  # noqa: N802  a module's constant
        """Return the group of the checks."""

    def checks(self, kinds: Iterable[Check]) -> list[Check]:
        """Return the checks. `kinds` has a check for each kind of node, which was tried before."""

    def print_checks(self, found: Iterable[Check], console: Console) -> None:
        """Print the checks of the group."""


class Forecast(Protocol):
    """The answer to `doctor --study`, which another package gives."""

    def __call__(self, study: str, *, as_json: bool) -> None:
        """Print what this machine can be expected to decide of a study."""


class NullTrials(Protocol):
    """The answer to `doctor --stable`, which another package gives."""

    def __call__(self, kind: str, trials: int, *, as_json: bool) -> bool:
        """Print whether this machine is fit to measure, by null trials; return True if it is."""
