"""Shares of a text's lines that fit a format, by which a text without a signature is recognised."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

ONE_IN = 10
"""Nearly all lines fit if one line in so many does not."""
MOST_LOOKED_AT = 5000
FIELD = re.compile(r"""(?:---|\.\.\.|[]}\[{]|-\s|["']?[A-Za-z_][\w.-]*["']?\s*:(?:\s|$))""")
"""The beginning of a line of YAML that is not indented: a field, an entry, a bracket."""


@dataclass(frozen=True, slots=True)
class FittingLines:
    """The number of lines that fit a format, and of all lines."""

    fitting: int
    all: int

    @property
    def nearly_all(self) -> bool:
        """Return True if the text is taken for one of the format."""
        return self.fitting > 0 and (self.all - self.fitting) * ONE_IN <= self.all


def share(fits: Callable[[str], bool], lines: Iterable[str]) -> FittingLines:
    """Return how many lines fit; of very many, lines at equal distances are looked at."""
    looked_at = list(lines)
    looked_at = looked_at[:: max(1, len(looked_at) // MOST_LOOKED_AT)]
    return FittingLines(sum(map(fits, looked_at)), len(looked_at))


def is_yaml(lines: Iterable[str]) -> bool:
    """Return True if nearly all lines that are not indented are fields of YAML, not prose."""
    outer = (line for line in lines if not line[0].isspace())
    return share(lambda line: FIELD.match(line) is not None, outer).nearly_all
