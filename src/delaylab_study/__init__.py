"""Studies of packet delay: trials, datasets, their analysis and reports (docs/api.md).

Each name is loaded when it is first used: tables and statistics take long to import. This package
uses the laboratory by `delaylab.api` alone.
"""

from __future__ import annotations

TYPE_CHECKING = False  # that of `typing`, which takes ten times as long to import as this module
if TYPE_CHECKING:
    from delaylab_study.analysis.claims.finding import Finding
    from delaylab_study.api.datasets import Dataset, read
    from delaylab_study.api.loading import LoadedStudy, load
    from delaylab_study.api.studies import run
    from delaylab_study.dataset.records.trial import TrialRecord

__all__ = ["Dataset", "Finding", "LoadedStudy", "TrialRecord", "load", "read", "run"]
_MODULES = {
    "analysis.claims.finding": ("Finding",),
    "api.datasets": ("Dataset", "read"),
    "api.loading": ("LoadedStudy", "load"),
    "api.studies": ("run",),
    "dataset.records.trial": ("TrialRecord",),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

if not TYPE_CHECKING:  # a type checker would take every name for one that exists

    def __getattr__(name: str) -> object:
        """Return a public name, loaded from its module."""
        from importlib import import_module  # noqa: PLC0415  as above

        from delaylab.api.errors import needed  # noqa: PLC0415  as above

        if name not in _HOMES:
            raise AttributeError(f"module 'delaylab_study' has no attribute {name!r}")
        with needed(f"delaylab_study.{name}"):
            value = getattr(import_module(f"delaylab_study.{_HOMES[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
