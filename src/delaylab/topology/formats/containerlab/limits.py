"""Limits of a node, `cpu`, `cpu-set`, `memory` and `cap-add`, as fields of a lab file."""

from __future__ import annotations

import re
from fractions import Fraction

from delaylab.spec.base import MOST_CPUS
from delaylab.spec.capabilities import ALL_CAPABILITIES, USUAL_CAPABILITIES
from delaylab.spec.kinds import SMALLEST_QUOTA
from delaylab.units import LARGEST, Multiple, Size

NUMBER = r"[0-9]{1,20}(?:\.[0-9]{1,20})?"
QUOTA = re.compile(NUMBER)
MEMORY = re.compile(rf"(?P<number>{NUMBER})\s*(?P<unit>[kmgt]?)(?P<binary>i?)b?", re.I)
CPUS = re.compile(r"([0-9]{1,4})(?:-([0-9]{1,4}))?")
LONGEST = 200
"""The longest text of a set of CPUs."""


def quota(text: str) -> str | None:
    """Return `cpu_quota` of a number of CPUs; None if no node can have it."""
    if not QUOTA.fullmatch(text):
        return None
    share = round(Fraction(text) * Multiple.WHOLE)
    return str(Multiple(share)) if SMALLEST_QUOTA.value <= share <= Multiple.MOST else None


def cpus(text: str) -> list[int] | None:
    """Return `cpus` of a set such as `0-1,4`; None if it is no such set."""
    if len(text) > LONGEST:
        return None
    found: set[int] = set()
    for part in text.replace(" ", "").split(","):
        match = CPUS.fullmatch(part)
        if match is None:
            return None
        found |= set(range(int(match[1]), int(match[2] or match[1]) + 1))
    return sorted(found) if found and max(found) < MOST_CPUS else None


def memory(text: str) -> str | None:
    """Return `memory` of a size such as `1Gb`, which is 10⁹ bytes, or `1GiB`."""
    match = MEMORY.fullmatch(text)
    if match is None:
        return None
    thousand = 1024 if match["binary"] else 1000
    size = int(Fraction(match["number"]) * thousand ** " kmgt".index(match["unit"].lower() or " "))
    return str(Size(size)) if 0 < size <= LARGEST else None


def capability(text: str) -> str | None:
    """Return a capability's name in a lab file, "" if every node has it, None if there is none."""
    name = text.lower().removeprefix("cap_")
    if name not in ALL_CAPABILITIES:
        return None
    return "" if name in USUAL_CAPABILITIES else name
