"""Passages of a trial's packets through links, as a dataset has them, as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from delaylab.api.causes import Passage
from delaylab_study.dataset.store import Study

PassagesOfPackets = Mapping[tuple[int, int], Sequence[tuple[str, Passage]]]
"""Passages of each packet, by its probe and sequence number, each with the clock of its times."""


def passages(study: Study, trial: str) -> PassagesOfPackets:
    """Return how packets of a trial passed links, in the order of the ends."""
    found: dict[tuple[int, int], list[tuple[str, Passage]]] = {}
    for row in study.passages(trial).sort("ended_ns").iter_rows(named=True):
        clock, fate = row.pop("clock"), row.pop("ended")
        each = Passage(fate=fate, **row)
        found.setdefault((each.probe, each.seq), []).append((clock, each))
    return found
