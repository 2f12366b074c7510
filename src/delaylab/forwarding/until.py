"""The rules by which a network has converged: its tables are right, or change no more."""

from __future__ import annotations

from dataclasses import dataclass

SECOND_NS = 10**9


@dataclass(frozen=True)
class Until:
    """The rule by which a network has converged.

    All tables are right; or, with `quiet_ns`, no table has changed for that long, and the network
    had converged with the last change. `why` says why the right tables are not known, if so.
    """

    quiet_ns: int | None = None
    why: str | None = None

    @property
    def words(self) -> str:
        """Return it in words: `all tables right`, `quiet for 5 s`."""
        return "all tables right" if self.quiet_ns is None else quiet_words(self.quiet_ns)


def quiet_words(quiet_ns: int) -> str:
    """Return the rule of a quiet time in words: `quiet for 5 s`."""
    return f"quiet for {quiet_ns / SECOND_NS:g} s"
