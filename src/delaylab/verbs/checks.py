"""Checks that `delaylab doctor` makes."""

from __future__ import annotations

from dataclasses import dataclass, field

from rich.text import Text


@dataclass(frozen=True)
class Check:
    """Check of one thing that a lab can need."""

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
