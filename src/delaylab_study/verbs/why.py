"""Verb `delaylab why`: why packets of a dataset took longer than usual."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from delaylab.api.errors import BadInput
from delaylab_study.analysis.causes.explained import LookedAt, LookedAtTrial, looked_at, recorded
from delaylab_study.dataset.store import Study

NOT_RECORDED = "give its study's probe `causes: true`, and run it again"


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyOfStudy:
    """The packets of a study's trials that were looked at, and the slowest of all."""

    trials: Sequence[LookedAtTrial]
    slowest: Sequence[LookedAt]


def why(study: Study, slowest: int, trial: str | None) -> WhyOfStudy:
    """Return the packets of a study, or of one of its trials, with their causes.

    Raises BadInput if there is no such trial, or if the CPUs were not recorded.
    """
    known = {each.id: each for each in study.trials if each.status == "ok"}
    if trial is not None and trial not in known:
        raise BadInput(f"no trial {trial!r}", str(study.directory), f"one of: {', '.join(known)}")
    wanted = [known[trial]] if trial is not None else list(known.values())
    found = [looked_at(study, each) for each in wanted if recorded(study, each)]
    if not found:
        raise BadInput("no CPUs were recorded", str(study.directory), NOT_RECORDED)
    packets = [packet for each in found for packet in each.packets]
    packets.sort(key=lambda packet: -packet.explained.excess_ns)
    return WhyOfStudy(trials=found, slowest=packets[:slowest])
