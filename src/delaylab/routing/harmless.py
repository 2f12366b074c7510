"""Lines of a daemon's configuration that change no route, such as those about its log."""

from __future__ import annotations

from collections.abc import Mapping

from delaylab.spec.routing.model import Daemons

HARMLESS: Mapping[Daemons, tuple[str, ...]] = {
    "frr": (
        "log",
        "service",
        "hostname",
        "domainname",
        "debug",
        "line vty",
        "password",
        "enable password",
        "banner",
        "exec-timeout",
        "login",
        "description",
        "username",
        "frr version",
        "interface",
        "exit",
        "quit",
        "end",
    ),
    "bird": ("log", "debug protocols", "debug commands", "timeformat", "hostname", "watchdog"),
}
"""The first words of lines that change no route. A line `interface` alone opens a block of others,
each of which is looked at, too."""
COMMENTS = ("!", "#")


def changes_routes(added: str, by: Daemons) -> bool:
    """Return True if lines that a file adds to a configuration may change the routes."""
    return any(not _is_harmless(line.split(), by) for line in added.splitlines())


def _is_harmless(words: list[str], by: Daemons) -> bool:
    if not words or words[0][0] in COMMENTS:
        return True
    said = words[1:] if words[0] == "no" else words
    return any(said[: len(first)] == first for first in map(str.split, HARMLESS[by]))
