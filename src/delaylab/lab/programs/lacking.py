"""Rights that a program lacked, by what it printed before it ended."""

from __future__ import annotations

import re

_LISTED = re.compile(r"\b(Wanted|Have) +caps: *([^/\n]*)")
"""FRR's words for the capabilities that a daemon needs, and for those that it got."""
_NAME = re.compile(r"\bcap_([a-z0-9_]+)")
_REFUSED = ("Operation not permitted", "EPERM")
CAPABILITIES = "`capabilities:` of the node adds capabilities that its programs lack"


def lacking(printed: str) -> list[str]:
    """Return the capabilities that a program wanted and did not have; none if it names none."""
    found: dict[str, str] = dict(_LISTED.findall(printed))
    wanted, had = (_NAME.findall(found.get(word, "")) for word in ("Wanted", "Have"))
    # A list that names nothing and has a sign stands for all of them (cap_to_text(3)).
    has_all = not had and "=" in found.get("Have", "")
    return [] if has_all else [name for name in wanted if name not in had]


def why(printed: str) -> tuple[str, str] | None:
    """Return what a program lacked, and what to do; None if what it printed does not say so."""
    if names := lacking(printed):
        plural = "capabilities" if names[1:] else "the capability"
        listed = ", ".join(names)
        return f"it needs {plural} {listed}", f"give the node `capabilities: [{listed}]`"
    if any(word in printed for word in _REFUSED):
        return "", CAPABILITIES
    return None
