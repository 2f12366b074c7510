"""A laboratory for packet delay: labs, pings, studies and datasets from Python (docs/api.md).

Each name is loaded when it is first used: tables and statistics take long to import, and labs need
none of them.
"""

from __future__ import annotations

TYPE_CHECKING = False  # that of `typing`, which takes ten times as long to import as this module
if TYPE_CHECKING:
    from delaylab.analysis.claims.finding import Finding
    from delaylab.api.datasets import Dataset, read
    from delaylab.api.labs import (
        CommandFailed,
        CommandResult,
        Link,
        Node,
        Program,
        RunningLab,
        attach,
        up,
    )
    from delaylab.api.loading import Lab, LoadedStudy, load
    from delaylab.api.maps import LabFile, generate, import_map
    from delaylab.api.pings import ping
    from delaylab.api.studies import run
    from delaylab.dataset.records.trial import TrialRecord
    from delaylab.errors import BadInput, DelaylabError, NotHere
    from delaylab.verbs.ping.result import PingPacket, PingResult, Spread

__all__ = [
    "BadInput",
    "CommandFailed",
    "CommandResult",
    "Dataset",
    "DelaylabError",
    "Finding",
    "Lab",
    "LabFile",
    "Link",
    "LoadedStudy",
    "Node",
    "NotHere",
    "PingPacket",
    "PingResult",
    "Program",
    "RunningLab",
    "Spread",
    "TrialRecord",
    "attach",
    "generate",
    "import_map",
    "load",
    "ping",
    "read",
    "run",
    "up",
]
_MODULES = {
    "analysis.claims.finding": ("Finding",),
    "api.datasets": ("Dataset", "read"),
    "api.labs": (
        "CommandFailed",
        "CommandResult",
        "Link",
        "Node",
        "Program",
        "RunningLab",
        "attach",
        "up",
    ),
    "api.loading": ("Lab", "LoadedStudy", "load"),
    "api.maps": ("LabFile", "generate", "import_map"),
    "api.pings": ("ping",),
    "api.studies": ("run",),
    "dataset.records.trial": ("TrialRecord",),
    "errors": ("BadInput", "DelaylabError", "NotHere"),
    "verbs.ping.result": ("PingPacket", "PingResult", "Spread"),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

if not TYPE_CHECKING:  # a type checker would take every name for one that exists

    def __getattr__(name: str) -> object:
        """Return a public name, loaded from its module."""
        from importlib import import_module  # noqa: PLC0415  as above

        if name not in _HOMES:
            raise AttributeError(f"module 'delaylab' has no attribute {name!r}")
        value = getattr(import_module(f"delaylab.{_HOMES[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
