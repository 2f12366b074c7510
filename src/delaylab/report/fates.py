"""Fates of packets by phase and leg, as rows of text for all reports."""

from __future__ import annotations

from dataclasses import dataclass

from delaylab.analysis.group import Group
from delaylab.analysis.packets.accounting import ByLeg, PhaseAccount
from delaylab.io.values import JsonObject

NOTE = (
    "→ on the request's way, ← on the reply's, ? on an unknown one. Phases that are not listed: "
    "every packet was answered once, in time and in order."
)
NOTHING = "Every packet of every phase was answered once, in time and in order."


@dataclass(frozen=True, slots=True)
class Fate:
    """Row of the table of fates: one phase of one group in which packets got no normal answer."""

    trials: str
    phase: str
    sent: int
    answered: int
    else_: str


def fates(groups: list[Group]) -> list[Fate]:
    """Return the phases in which packets were lost, late, copied, overtaken or not sent."""
    return [
        Fate(group.label, phase.phase, phase.sent, phase.answered, said)
        for group in groups
        if group.packets
        for phase in group.packets.phases
        if (said := in_words(phase))
    ]


def in_words(phase: PhaseAccount) -> str:
    """Return what happened to packets of a phase without a normal answer; "" if all had one."""
    legs = {"lost": phase.lost, "duplicated": phase.duplicated, "reordered": phase.reordered}
    counts = {"late": phase.late, "refused": phase.refused, "unsent": phase.unsent}
    said = [f"{name} {_by_leg(found)}" for name, found in legs.items() if found.total]
    return ", ".join([*said, *(f"{name} {n}" for name, n in counts.items() if n)])


def _by_leg(found: ByLeg) -> str:
    marks = {"→": found.request, "←": found.reply, "?": found.unknown}
    return f"{found.total} ({', '.join(f'{mark} {n}' for mark, n in marks.items() if n)})"


def phase_json(phase: PhaseAccount) -> JsonObject:
    """Return a phase's account as plain JSON values."""
    return {
        "phase": phase.phase,
        "scheduled": phase.scheduled,
        "sent": phase.sent,
        "answered": phase.answered,
        "late": phase.late,
        "lost": _legs_json(phase.lost),
        "refused": phase.refused,
        "unsent": phase.unsent,
        "duplicated": _legs_json(phase.duplicated),
        "reordered": _legs_json(phase.reordered),
    }


def _legs_json(found: ByLeg) -> JsonObject:
    return {"request": found.request, "reply": found.reply, "unknown": found.unknown}
