"""Software and settings of a machine in words, for all forms of a report."""

from __future__ import annotations

from collections.abc import Sequence

from delaylab.api.records import MachineRecord
from delaylab_study.dataset.records.trial import TrialRecord

SHORT = 10
"""The characters of a commit that are enough to find it."""


def in_short(machine: MachineRecord) -> str:
    """Return the settings and versions that matter most in a line; "" if they are not recorded."""
    found = machine.provenance
    if found is None:
        return ""
    parts = [
        f"delaylab {machine.delaylab}{_at(found.commit)}",
        f"governor {found.governor}" if found.governor else "",
        f"control groups {found.cgroups}" if found.cgroups else "",
        f"TCP {found.congestion_control}" if found.congestion_control else "",
        *(f"{name} {version}" for name, version in found.programs.items()),
    ]
    return ", ".join(part for part in parts if part)


def whole(machine: MachineRecord, trials: Sequence[TrialRecord]) -> dict[str, str]:
    """Return all that is recorded of the software, by name; the images are those of all trials."""
    found = machine.provenance
    images = {name: key for trial in trials for name, key in trial.images.items()}
    known = {
        "delaylab": f"{machine.delaylab}{_at(found.commit if found else None)}",
        "agent": machine.agent,
        "Python": machine.python,
    }
    if found is not None:
        known |= {
            **found.programs,
            "CPU frequency governor": found.governor or "none",
            "control groups": found.cgroups or "none",
            "TCP congestion control": found.congestion_control or "not known",
            "mitigations": "; ".join(f"{k}: {v}" for k, v in found.mitigations.items()),
        }
    return known | {f"image {name}": key for name, key in sorted(images.items())}


def _at(commit: str | None) -> str:
    if commit is None:
        return ""
    digits, dash, changed = commit.partition("-")
    return f" at {digits[:SHORT]}{dash}{changed}"
