"""The papers that are installed: those of this project and of any other package, found alike.

A package brings a paper by an entry point of the group `delaylab.papers`: the paper's name, and the
module and object that define it. The paper's study files lie in that module's folder. Nothing of a
paper but its package's `__init__.py` is imported until its claims or its report are needed.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from delaylab.api.additions import EntryPoint, entry_points

GROUP = "delaylab.papers"


def installed() -> dict[str, EntryPoint]:
    """Return all installed papers by name; raise BadInput if two have the same name."""
    return dict(sorted(entry_points(GROUP, "papers").items()))


def folder(entry: EntryPoint) -> Path | None:
    """Return the folder of an installed paper, None if its module is not found."""
    try:
        spec = find_spec(entry.module)
    except Exception:  # the package's own code, which loading the paper will report
        return None
    return Path(spec.origin).parent if spec is not None and spec.origin else None
