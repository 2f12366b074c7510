"""Scenarios with virtual machines that were emulated in software."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from delaylab.analysis.claims.claim import Measured
from delaylab.dataset.records.doubts import DoubtKind


def emulated_aside(measured: Sequence[Measured]) -> list[Measured]:
    """Return the scenarios with emulated ones set aside, unless no other could decide."""
    others = [each for each in measured if not each.aside and not _is_emulated(each)]
    if not others:
        return list(measured)
    return [replace(each, aside=True) if _is_emulated(each) else each for each in measured]


def _is_emulated(found: Measured) -> bool:
    return any(
        warning.kind == DoubtKind.EMULATED
        for group in found.groups
        for trial in group.trials
        for warning in trial.warnings
    )
