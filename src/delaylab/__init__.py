"""A laboratory for packet delay: labs, pings and maps from Python (docs/api.md).

Each name is loaded when it is first used. Studies and datasets are in `delaylab_study`.
"""

from __future__ import annotations

TYPE_CHECKING = False  # that of `typing`, which takes ten times as long to import as this module
if TYPE_CHECKING:
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
    from delaylab.api.loading import Lab, load
    from delaylab.api.maps import LabFile, generate, import_map
    from delaylab.api.pings import ping
    from delaylab.errors import BadInput, DelaylabError, NotHere
    from delaylab.verbs.ping.result import PingPacket, PingResult, Spread

__all__ = [
    "BadInput",
    "CommandFailed",
    "CommandResult",
    "DelaylabError",
    "Lab",
    "LabFile",
    "Link",
    "Node",
    "NotHere",
    "PingPacket",
    "PingResult",
    "Program",
    "RunningLab",
    "Spread",
    "attach",
    "generate",
    "import_map",
    "load",
    "ping",
    "up",
]
_MODULES = {
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
    "api.loading": ("Lab", "load"),
    "api.maps": ("LabFile", "generate", "import_map"),
    "api.pings": ("ping",),
    "errors": ("BadInput", "DelaylabError", "NotHere"),
    "verbs.ping.result": ("PingPacket", "PingResult", "Spread"),
}
_IN_STUDIES = ("Dataset", "Finding", "LoadedStudy", "TrialRecord", "read", "run")
"""Names that were here in version 0.1 and are in `delaylab_study` now; kept for one release."""
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

if not TYPE_CHECKING:  # a type checker would take every name for one that exists

    def __getattr__(name: str) -> object:
        """Return a public name, loaded from its module."""
        from importlib import import_module  # noqa: PLC0415  as above

        if name in _IN_STUDIES:
            import warnings  # noqa: PLC0415  as above

            what = f"delaylab.{name} is delaylab_study.{name} now; it goes with the next release"
            warnings.warn(what, DeprecationWarning, stacklevel=2)
            return getattr(import_module("delaylab_study"), name)
        if name not in _HOMES:
            raise AttributeError(f"module 'delaylab' has no attribute {name!r}")
        value = getattr(import_module(f"delaylab.{_HOMES[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
