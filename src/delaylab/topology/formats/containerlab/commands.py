"""Commands of a node, `exec` and `entrypoint`, as programs of a lab file."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

LONGEST = 100_000
MANAGEMENT = "eth0"
"""The interface that containerlab gives every node on its management network."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command with its name; `ends` if it is to end before the next one starts."""

    name: str
    words: tuple[str, ...]
    ends: bool

    def program(self, interfaces: Mapping[str, str]) -> dict[str, object]:
        """Return the program of a lab file; `interfaces` has their names there."""
        ready: dict[str, object] = {"ready": {"ends": True}} if self.ends else {}
        return {"run": list(_renamed(self.words, interfaces)), "name": self.name, **ready}

    def first_of(self, interfaces: Collection[str]) -> str:
        """Return the first of some interfaces that a word names; "" if it names no such."""
        found = _pattern(interfaces).search("\n".join(self.words)) if interfaces else None
        return found[0] if found else ""


def words_of(command: str) -> tuple[str, ...]:
    """Return the words of a command; () if it has none, quotes that do not end, or is too long."""
    try:
        return tuple(shlex.split(command)) if len(command) <= LONGEST else ()
    except ValueError:
        return ()


def _renamed(words: Sequence[str], interfaces: Mapping[str, str]) -> Sequence[str]:
    if not interfaces:
        return words
    pattern = _pattern(interfaces)
    return [pattern.sub(lambda found: interfaces[found[0]], word) for word in words]


def _pattern(interfaces: Collection[str]) -> re.Pattern[str]:
    """Return a pattern of interfaces as words, and in the names of sysctls.

    `eth1.100` is another interface, whose name the file itself makes.
    """
    known = "|".join(map(re.escape, sorted(interfaces, key=len, reverse=True)))
    sysctl = rf"(?<=conf[./])(?:{known})(?=[./])"
    return re.compile(rf"{sysctl}|(?<![\w./-])(?:{known})(?![\w./-])")
