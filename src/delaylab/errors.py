"""Errors that a user reads: what went wrong, where, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class DelaylabError(Exception):
    """One clear line for the user, and the exit code of the command.

    Exit codes: 1 the run failed, 2 bad input, 3 not possible on this machine.
    """

    what: str
    where: str = ""
    fix: str = ""
    exit_code: int = field(default=1, kw_only=True)

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        remedy = f" ({self.fix})" if self.fix else ""
        return f"{place}{self.what}{remedy}"


class BadInput(DelaylabError):
    """A file or an argument that says something impossible; exit code 2."""

    def __init__(self, what: str, where: str = "", fix: str = "") -> None:
        super().__init__(what, where, fix, exit_code=2)


class NotHere(DelaylabError):
    """This machine, or this user's rights, cannot do it; exit code 3."""

    def __init__(self, what: str, where: str = "", fix: str = "") -> None:
        super().__init__(what, where, fix, exit_code=3)


class DoesNotFit(NotHere):
    """This machine is too small for it: a study skips the level."""
