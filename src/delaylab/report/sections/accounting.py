"""Fates of packets by phase and leg, and the account of every packet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from rich.table import Table
from rich.text import Text

from delaylab.analysis.group import Group
from delaylab.analysis.packets.accounting import ByLeg, PhaseAccount
from delaylab.dataset.records.trial import TrialRecord
from delaylab.io.values import JsonObject
from delaylab.report.sections.section import Html, Report

# Largest number of phases whose packets' fates the terminal shows.
FATED = 12
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


def terminal(report: Report, width: int) -> Iterator[Table | Text]:
    """Yield the table of fates, or a line that all packets were answered."""
    if found := fates(report.groups):
        yield _table(found)
    elif report.probed:
        yield Text(NOTHING, "dim")


def trial_json(trial: TrialRecord, group: Group | None) -> JsonObject:
    """Return the account of each phase, and the last points that saw lost packets."""
    packets = group.packets if group else None
    return {
        "phases": [_phase(phase) for phase in packets.phases] if packets else [],
        "lost_after": packets.account.lost_after if packets else {},
    }


def html(report: Report) -> Html:
    """Return the fates of packets."""
    return Html({"fates": fates(report.groups)})


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
    counts = {
        "mismatched": phase.mismatched,
        "late": phase.late,
        "refused": phase.refused,
        "unsent": phase.unsent,
    }
    said = [f"{name} {_by_leg(found)}" for name, found in legs.items() if found.total]
    return ", ".join([*said, *(f"{name} {n}" for name, n in counts.items() if n)])


def _by_leg(found: ByLeg) -> str:
    marks = {"→": found.request, "←": found.reply, "?": found.unknown}
    return f"{found.total} ({', '.join(f'{mark} {n}' for mark, n in marks.items() if n)})"


def _phase(phase: PhaseAccount) -> JsonObject:
    """Return a phase's account as plain JSON values."""
    return {
        "phase": phase.phase,
        "scheduled": phase.scheduled,
        "sent": phase.sent,
        "answered": phase.answered,
        "late": phase.late,
        "lost": asdict(phase.lost),
        "mismatched": phase.mismatched,
        "refused": phase.refused,
        "unsent": phase.unsent,
        "duplicated": asdict(phase.duplicated),
        "reordered": asdict(phase.reordered),
    }


def _table(rows: list[Fate]) -> Table:
    """Return what happened to packets that got no normal answer, by phase and leg."""
    more = len(rows) - FATED
    rest = f" {more} more phases are in the report." if more > 0 else ""
    table = Table(
        title="Packets by phase",
        caption=Text(NOTE + rest, "dim italic"),
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("trials, phase", ratio=2, overflow="fold")
    table.add_column("sent", justify="right", no_wrap=True)
    table.add_column("answered", justify="right", no_wrap=True)
    table.add_column("what else", ratio=3, overflow="fold")
    for row in rows[:FATED]:
        head = Text.assemble((row.trials, "bold"), f"\n{row.phase}")
        table.add_row(head, str(row.sent), str(row.answered), Text(row.else_))
    return table
