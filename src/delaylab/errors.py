"""Errors for the user to read: the problem, its place, and a remedy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

NEAR = 0.75
"""The least similarity of a suggested name: words of four letters and more may differ in one."""


@dataclass(slots=True)
class DelaylabError(Exception):
    """An error that the user sees as one line, with the exit code of the command.

    Exit codes: 1 the run failed, 2 bad input, 3 not possible on this machine.
    """

    what: str
    where: str = ""
    fix: str = ""
    exit_code: int = field(default=1, kw_only=True)

    @property
    def all(self) -> tuple[DelaylabError, ...]:
        """Return this error, and those that were found together with it."""
        return (self,)

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        remedy = f" ({self.fix})" if self.fix else ""
        return f"{place}{self.what}{remedy}"


class BadInput(DelaylabError):
    """The error for invalid content of a file or an argument; exit code 2.

    `more` are other errors of the same file, which the user can fix at once.
    """

    def __init__(self, what: str, where: str = "", fix: str = "") -> None:
        super().__init__(what, where, fix, exit_code=2)
        self.more: tuple[BadInput, ...] = ()

    @property
    def all(self) -> tuple[DelaylabError, ...]:
        """Return this error, and those that were found together with it."""
        return (self, *self.more)


def together(errors: Sequence[BadInput]) -> BadInput:
    """Return the first error with the others as `more`."""
    first, *more = errors
    first.more = tuple(more)
    return first


class NotHere(DelaylabError):
    """A request that this machine, or this user's rights, do not allow; exit code 3."""

    def __init__(self, what: str, where: str = "", fix: str = "") -> None:
        super().__init__(what, where, fix, exit_code=3)


class Unexpected(ValueError):
    """A value of another form than the expected one: what was expected, and what is there."""


class DoesNotFit(NotHere):
    """A lab that needs more than this machine has; a study skips that level. Exit code 3."""


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'X'?` for a name that is near to a known one; "" if none is."""
    import difflib  # noqa: PLC0415  it takes 2 ms, and few verbs fail

    close = difflib.get_close_matches(given, list(known), 1, cutoff=NEAR)
    return f"; did you mean {close[0]!r}?" if close else ""


def is_near(given: str, known: str) -> bool:
    """Return True if one name may be meant by the other."""
    return bool(did_you_mean(given, [known]))
