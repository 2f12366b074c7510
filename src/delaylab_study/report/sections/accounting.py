"""Fates of packets by phase and leg, and the account of every packet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from delaylab.api.files import JsonObject
from delaylab_study.analysis.group import Group, GroupPackets
from delaylab_study.analysis.packets.accounting import ByLeg, PhaseAccount, PointAccount
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.report import value as v
from delaylab_study.report.sections.section import Report

# Largest number of phases whose packets' fates the terminal shows.
FATED = 12
FATES = (
    v.Column("trials, phase", "label", v.TERMINAL, ratio=2, long="fold"),
    v.Column("trials", "label", v.PAGE),
    v.Column("phase", "text", v.PAGE),
    v.Column("sent", long="whole"),
    v.Column("answered", long="whole"),
    v.Column("what else", "text", ratio=3, long="fold"),
)
POINTS = (
    v.Column("trials", "label", key="trials"),
    v.Column("scheduled"),
    *(
        v.Column(head, "text", key=head.replace(" ", "_"))
        for head in ("outcome", "lost after", "seen")
    ),
    v.Column("outliers"),
)
UNLISTED = "Phases that are not listed: every packet was answered once, in time and in order."
NOTE = f"→ on the request's way, ← on the reply's, ? on an unknown one. {UNLISTED}"
FATES_SAID = (
    "What happened to packets that got no answer, a late one or several, by phase. Lost: on the "
    f"way to the responder (→), on the way back (←), or where no point could tell (?). {UNLISTED}"
)
POINTS_SAID = (
    "The packets of all phases with taps, by point. A packet that no reply came for is listed by "
    "the last point that saw it; a point is listed where it did not see them all."
)
OUTLIERS_SAID = (
    "Outliers are user RTTs further than 3.5 robust standard deviations (median, MAD) from the "
    "median: flagged, none dropped."
)
NOTHING = "Every packet of every phase was answered once, in time and in order."


def section(report: Report) -> v.Section:
    """Return the table of fates, or a line that all packets were answered, and that of points."""
    return v.Section("accounting", [*_parts(report)] if report.probed else [])


def trial_json(trial: TrialRecord, group: Group | None) -> JsonObject:
    """Return the account of each phase, and the last points that saw lost packets."""
    packets = group.packets if group else None
    return {
        "phases": [_phase(phase) for phase in packets.phases] if packets else [],
        "lost_after": packets.account.lost_after if packets else {},
    }


def _parts(report: Report) -> Iterator[v.Part]:
    yield v.Heading("Every packet accounted for", 2)
    if fates := [*_fates(report.groups)]:
        yield v.note(FATES_SAID)
        yield v.Table(FATES, fates, "Packets by phase", NOTE, most=FATED, more="phases")
    else:
        yield v.Line(NOTHING, "faint", "note")
    yield v.note(POINTS_SAID)
    packets = [(group.label, group.packets) for group in report.probed if group.packets]
    yield v.Table(POINTS, [_points(*each) for each in packets], key="account", on=v.PAGE)
    yield v.note(OUTLIERS_SAID)
    yield v.for_scripts(
        "points",
        lambda: (_point(*each, point) for each in packets for point in each[1].account.points),
    )
    yield v.for_scripts(
        "phases",
        lambda: (_counts(label, phase) for label, found in packets for phase in found.phases),
    )


def _fates(groups: list[Group]) -> Iterator[v.Row]:
    """Yield the phases in which packets were lost, late, copied, overtaken or not sent."""
    for group in groups:
        for phase in group.packets.phases if group.packets else []:
            if said := in_words(phase):
                head = (v.Span(group.label, "strong"), f"\n{phase.phase}")
                counts = v.Value("sent", phase.sent), v.Value("answered", phase.answered)
                yield [head, group.label, phase.phase, *counts, said]


def in_words(phase: PhaseAccount) -> str:
    """Return what happened to packets of a phase without a normal answer; "" if all had one."""
    counts = {
        "mismatched": phase.mismatched,
        "late": phase.late,
        "refused": phase.refused,
        "unsent": phase.unsent,
    }
    said = [f"{name} {_by_leg(found)}" for name, found in _by_name(phase).items() if found.total]
    return ", ".join([*said, *(f"{name} {n}" for name, n in counts.items() if n)])


def _by_leg(by_leg: ByLeg) -> str:
    marks = {"→": by_leg.request, "←": by_leg.reply, "?": by_leg.unknown}
    return f"{by_leg.total} ({', '.join(f'{mark} {n}' for mark, n in marks.items() if n)})"


def _points(label: str, packets: GroupPackets) -> v.Row:
    account = packets.account
    outcomes = ", ".join(f"{name} {n}" for name, n in account.outcomes.items())
    lost = ", ".join(f"{where}: {n}" for where, n in account.lost_after.items()) or "none"
    if account.responder_dropped:
        lost += f"; responder's kernel dropped {account.responder_dropped}"
    seen = ", ".join(
        f"{'→' if point.leg == 'request' else '←'} {point.point} {point.seen}"
        for point in account.points
        if point.seen < account.scheduled
    )
    seen = seen or f"all {account.scheduled} at every point"
    counts = {"scheduled": account.scheduled, "outliers": packets.outliers}
    scheduled, outliers = v.values(counts)
    return [label, scheduled, outcomes, lost, seen, outliers]


def _point(label: str, packets: GroupPackets, point: PointAccount) -> tuple[v.Value, ...]:
    scheduled = packets.account.scheduled
    return v.values({"trials": label, "scheduled": scheduled, **asdict(point)})


def _counts(label: str, phase: PhaseAccount) -> tuple[v.Value, ...]:
    """Return the counts of a phase; those by leg also by each leg."""
    fields = ("phase", "scheduled", "sent", "answered", "late", "mismatched", "refused", "unsent")
    plain = {"sent": phase.sent, **asdict(phase)}
    by_leg = {
        f"{key}{'_' if leg else ''}{leg}": n
        for key, found in _by_name(phase).items()
        for leg, n in {"": found.total, **asdict(found)}.items()
    }
    return v.values({"trials": label, **{key: plain[key] for key in fields}, **by_leg})


def _by_name(phase: PhaseAccount) -> dict[str, ByLeg]:
    return {"lost": phase.lost, "duplicated": phase.duplicated, "reordered": phase.reordered}


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
