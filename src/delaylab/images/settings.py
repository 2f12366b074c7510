"""Settings that packages make when they are installed, as far as they can be read instead of run.

Links of `update-alternatives`, and users of the system. Nothing of a package is ever run.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ALTERNATIVES = "etc/alternatives"
SYSUSERS = "lib/sysusers.d"
FIRST_ID = 100
"""The least number of the system's users that packages make (Debian Policy, 9.2.2)."""
NO_SHELL = "/bin/false"


@dataclass(frozen=True)
class _Alternative:
    link: str
    name: str
    path: str
    priority: int


def link_alternatives(scripts: Iterable[str], root: Path) -> None:
    """Make the links of alternatives, each to the one of the highest priority.

    Only those are made that a script writes out in full, as debhelper does.
    """
    found = sorted(
        (each for script in scripts for each in _alternatives(script)),
        key=lambda each: (each.priority, each.path),
    )
    for each in {each.name: each for each in found}.values():
        link = root / each.link.lstrip("/").removeprefix("usr/")
        target = root / each.path.lstrip("/").removeprefix("usr/")
        if link.is_symlink() or link.exists() or not target.exists():
            continue
        link.parent.mkdir(parents=True, exist_ok=True)
        (root / ALTERNATIVES).mkdir(parents=True, exist_ok=True)
        link.symlink_to(f"/{ALTERNATIVES}/{each.name}")
        (root / ALTERNATIVES / each.name).symlink_to(each.path)


def write_users(scripts: Iterable[str], root: Path, out: Path) -> None:
    """Write lines for `passwd` and `group` with the users of the system that packages make."""
    names = {name for script in scripts for name in _added_users(script)}
    for file in sorted((root / SYSUSERS).glob("*.conf")):
        names |= set(re.findall(r"^u!?\s+([a-z_][a-z0-9_-]*)\s", file.read_text(), re.M))
    users, groups = "", ""
    for number, name in enumerate(sorted(names), FIRST_ID):
        users += f"{name}:x:{number}:{number}:{name}:/nonexistent:{NO_SHELL}\n"
        groups += f"{name}:x:{number}:\n"
    (out / "passwd").write_text(users)
    (out / "group").write_text(groups)


def _alternatives(script: str) -> Iterator[_Alternative]:
    """Yield the alternatives that a script installs, and those that follow them."""
    for words in _commands(script, "update-alternatives"):
        priority = None
        for at, word in enumerate(words):
            given = words[at + 1 : at + 5]
            if word == "--install" and len(given) == 4 and given[3].isdecimal():
                priority = int(given[3])
                yield _Alternative(given[0], given[1], given[2], priority)
            elif word == "--slave" and len(given) >= 3 and priority is not None:
                yield _Alternative(given[0], given[1], given[2], priority)


def _added_users(script: str) -> Iterator[str]:
    """Yield the users that a script adds to the system."""
    for words in _commands(script, "adduser"):
        name = words[-1]
        if "--system" in words and re.fullmatch(r"[a-z_][a-z0-9_-]*", name):
            yield name


def _commands(script: str, program: str) -> Iterator[list[str]]:
    """Yield the words of a script's calls of a program; those with variables are left out."""
    for line in script.replace("\\\n", " ").splitlines():
        found = re.search(rf"(?:^|[\s;&|]){program}\s(.*)", line)
        if found is None or "$" in found[1]:
            continue
        try:
            words = shlex.split(re.split(r"\s*(?:[;&|]|\d?>)", found[1])[0])
        except ValueError:
            continue
        if words:
            yield words
