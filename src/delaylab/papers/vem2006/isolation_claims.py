"""Tests of vem2006's claims on isolation, end of section IV C."""

from __future__ import annotations

import numpy as np

from delaylab.analysis.claims.claim import Claim, NotTestable, Result, within
from delaylab.analysis.claims.groups import in_words, weakest
from delaylab.analysis.group import Group
from delaylab.analysis.statistics.effects import Effect, estimate_of_few
from delaylab.papers.vem2006.forwarding import SEARCHES
from delaylab.papers.vem2006.isolation import (
    HALF,
    NOTHING,
    hog_takes,
    settings,
    shaped,
    unshaped_rates,
)

PAPER = "section IV C"
LITTLE = 0.02
LATE_US = 100.0


def shaped_as_configured(groups: list[Group]) -> Result:
    """Test whether shaped flows get what they are due, and their frames leave on time.

    A flow must be within `LITTLE` of what it is due, and its median lateness at most `LATE_US`.
    """
    found = shaped(groups)
    if len(found) < SEARCHES:
        raise NotTestable("needs trials in which half of the flows are shaped")
    off = np.array([each.ratio - 1 for each in found])
    effect = estimate_of_few([np.abs(off)], lambda s: np.asarray(s[0].max(axis=-1)))
    worst = found[int(np.abs(off).argmax())]
    lates = [each.late_us for each in found if each.late_us is not None]
    late = max(lates, default=0.0)
    why = (
        f"{len(found)} flows; furthest from its rate: {worst.link}, {worst.size} bytes, "
        f"{worst.ratio - 1:+.2%}; half of a flow's frames were at most {in_words(late)} late"
    )
    holds = float(np.abs(off).max()) <= LITTLE and late <= LATE_US and bool(lates)
    return Result(holds, why, effect, "share")


def unshaped_keep(groups: list[Group]) -> Result:
    """Test whether unshaped flows receive as much when others are shaped as when none is."""
    effects = {
        f"{kind}, {size} bytes": unshaped_rates(groups, (kind, size))
        for kind, size in settings(groups)
    }
    return _nothing_lost(effects, "shaping half of the flows")


def hog_harmless(groups: list[Group]) -> Result:
    """Test whether a node that burns CPU takes nothing from the others' flows."""
    effects = {
        f"{kind}, {size} bytes, shaped: {shaping}": hog_takes(groups, (kind, size), shaping)
        for kind, size in settings(groups)
        for shaping in (NOTHING, HALF)
    }
    return _nothing_lost(effects, "the hog")


def _nothing_lost(effects: dict[str, Effect | None], by: str) -> Result:
    known = {label: effect for label, effect in effects.items() if effect is not None}
    worst, effect = weakest(known, f"{SEARCHES} blocks of trials with and without {by}")
    why = f"{by} changes what the others receive by {effect.value:+.2%} at worst ({worst})"
    return Result(within(known.values(), least=-LITTLE), why, effect, "share")


CLAIMS = {
    claim.id: claim
    for claim in (
        Claim(
            "isolated-shaped-as-asked",
            "At the highest load the system shapes and delays correctly.",
            PAPER,
            shaped_as_configured,
            effect="achieved ÷ configured rate − 1, where furthest from 0",
        ),
        Claim(
            "isolated-unshaped-unmoved",
            "Flows that are not shaped achieve the same rate as where none is.",
            PAPER,
            unshaped_keep,
            effect="change of what unshaped flows receive, when others are shaped, where least",
        ),
        Claim(
            "isolated-from-hog",
            "A CPU hog does not affect the operation of the rest.",
            PAPER,
            hog_harmless,
            effect="change of what flows receive, beside a CPU hog, where least",
        ),
    )
}
