"""Head of a report: the study, its machine, and large figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from delaylab.api.files import JsonObject
from delaylab.api.records import MachineRecord
from delaylab_study.analysis.claims.finding import Verdict
from delaylab_study.analysis.group import Group, SegmentSummary
from delaylab_study.analysis.packets.rtt import WITHOUT_LINK
from delaylab_study.charts import words
from delaylab_study.dataset.store import Study
from delaylab_study.papers.findings import Claimed
from delaylab_study.report import value as v
from delaylab_study.report.arrange import probed
from delaylab_study.report.provenance import in_short
from delaylab_study.report.sections.cost import cost_by_kind
from delaylab_study.report.sections.section import Report

HOW_COST = "median user RTT at rest with taps minus that without"


UNPROBED = (
    "The study has no probe: no packets were sent. Its numbers are of work, of events and of the "
    "machine."
)


def section(report: Report) -> v.Section:
    """Return the study, its machines, what a reader must know of it, and figures that sum it up."""
    figures = v.Figures(_figures(report.study, report.groups, report.claims))
    return v.Section("", [*_terminal(report), v.Block([*_header(report)], "header"), figures])


def _terminal(report: Report) -> Iterator[v.Line]:
    record = report.study.record
    yield v.Line((v.Span(record.title, "strong"), f"  {record.study}"), on=v.TERMINAL)
    for label, machine in record.labelled.items():
        system = words.system(machine.kernel)
        yield v.Line(
            f"{label}, {machine.cpu}, {machine.cores} cores, {system}", "faint", on=v.TERMINAL
        )
        if software := in_short(machine):
            yield v.Line(software, "faint", on=v.TERMINAL)
    for said in _notes(report):
        yield v.Line(f"note: {said}", "open", on=v.TERMINAL)


def _header(report: Report) -> Iterator[v.Part]:
    record = report.study.record
    yield v.Line("delaylab", style="brand")
    yield v.Heading(record.title, 1)
    machines = "".join(
        f"{label} ({dataset.cpu}, {dataset.cores} cores, {words.system(dataset.kernel)}), "
        for label, dataset in record.labelled.items()
    )
    where = f" at scale {record.scale}, on {machines}{_day(record.created)}"
    yield v.Line(("Study ", v.Span(record.study, "strong"), where))
    if report.repeated.paper:
        yield v.note(f"It repeats {report.repeated.paper.citation}.")
    if not report.probed:
        yield v.note(UNPROBED)
    yield from (v.note(f"Note: {said}.") for said in _notes(report))


def study_json(report: Report) -> JsonObject:
    """Return the study's name and its machine, and all by name if there are several."""
    record = report.study.record
    machines: JsonObject = {name: each.model_dump() for name, each in record.machines.items()}
    return {
        "study": record.study,
        "machine": record.machine.model_dump(),
        **({"machines": machines} if len(machines) > 1 else {}),
    }


def _notes(report: Report) -> Iterator[str]:
    """Yield what a reader must know of the study before its numbers."""
    if report.repeated.note:
        yield report.repeated.note
    record = report.study.record
    if record.like is not None:
        yield (
            f"the study of another dataset was run again: that of {record.like.hostname}, "
            f"{_day(record.like.created)}"
        )
    machine = record.machine
    for each in record.extensions:
        yield (
            f"repeats were added on {_day(each.added)}, when {each.finished} trials were finished: "
            f"{each.repeat} instead of {each.before}. Intervals hold if that was not decided by "
            "the results"
        )
        if (changed := _changed(machine, each.machine)) is not None:
            yield f"the added trials ran on another machine or system: {changed}"
        machine = each.machine


def _changed(before: MachineRecord, after: MachineRecord) -> str | None:
    """Return what is another between two machines; None if they are one."""
    ours, theirs = before.model_dump(), after.model_dump()
    found = [
        f"{name} {ours[name]} → {theirs[name]}"
        for name in ("hostname", "cpu", "cores", "kernel", "delaylab")
        if ours[name] != theirs[name]
    ]
    return ", ".join(found) or None


def _day(time: str) -> str:
    return time[:16].replace("T", " ")


def _figures(study: Study, groups: list[Group], claims: list[Claimed]) -> list[v.Figure]:
    shares = (_own_share(group) for group in groups if "total" in group.deltas)
    figures = [figure for figure in shares if figure is not None][:1]
    largest = _largest_segment(groups)
    if largest:
        group, part = largest
        of = f"{part.layer}, {part.direction}, one way, {group.label}"
        note = f"{of}; 95 %: {words.interval(part.delay.median.interval)}"
        if part.bound_us:
            note += f"; clocks ± {words.delay(part.bound_us)}"
        note += _emulation(group)
        figures.append(
            v.Figure(words.quantile(part.delay.median), "largest median of a segment", note)
        )
    figures += [_verdicts(each) for each in claims]
    figures += _cost(groups)
    trials = f"{sum(len(g.trials) for g in groups)} of {len(study.record.planned)} trials"
    if probed(groups):
        phases = [phase for each in groups if each.packets for phase in each.packets.phases]
        packets = sum(phase.scheduled for phase in phases)
        lost = sum(phase.lost.total for phase in phases)
        note = f"{lost} lost, {trials}"
        figures.append(v.Figure(f"{packets:,}".replace(",", " "), "packets", note))
    elif groups:
        figures += _without_packets(groups, trials)
    return figures


def _without_packets(groups: list[Group], trials: str) -> Iterator[v.Figure]:
    """Yield how many events there were, and how many jobs of nodes."""
    events = [event for group in groups for event in group.events]
    jobs = sum(len(trial.work) for group in groups for trial in group.trials)
    if events:
        right = sum(event.right_s is not None for event in events)
        quiet = sum(event.quiet_s is not None for event in events)
        note = f"{right} with right tables before the next, {trials}"
        if any(event.record.quiet_ns for event in events):
            note = f"{right} with right and {quiet} with quiet tables before the next, {trials}"
        yield v.Figure(str(len(events)), "events", note)
    if jobs or not events:
        yield v.Figure(str(jobs), "jobs of nodes", f"{_failed(groups)} failed, {trials}")


def _verdicts(claimed: Claimed) -> v.Figure:
    """Return how many claims are reproduced, or hold, and how many have each other verdict."""
    counts = Counter(each.verdict for each in claimed.findings)
    yes: Verdict = "reproduced" if claimed.name else "holds"
    no: Verdict = "contradicted" if claimed.name else "does not hold"
    others: tuple[Verdict, ...] = (no, "open", "not testable here")
    rest = ", ".join(f"{counts[name]} {name}" for name in others if counts[name])
    note = rest or "each at both ends of its 95 % interval"
    name = f"claims of {claimed.name} reproduced" if claimed.name else "claims of this study hold"
    name += ", chosen after the data" if claimed.after_data else ""
    return v.Figure(f"{counts[yes]} of {len(claimed.findings)}", name, note)


def _failed(groups: list[Group]) -> int:
    """Return the number of jobs that failed."""
    jobs = (work for group in groups for trial in group.trials for work in trial.work)
    return sum(work.failed is not None for work in jobs)


def _cost(groups: list[Group]) -> list[v.Figure]:
    """Return what the taps add where that is most; if it is nowhere measurable, its upper limit."""
    known = {kind: cost for kind, cost in cost_by_kind(groups).items() if cost.added}
    seen = {
        kind: cost.added.value for kind, cost in known.items() if cost.added and cost.measurable
    }
    if seen:
        kind = max(seen, key=lambda name: seen[name])
        note = f"{words.cost(known[kind])}; {HOW_COST} ({kind})"
        return [v.Figure(words.delay(seen[kind]), "added by measuring", note)]
    limits = {kind: most for kind, cost in known.items() if (most := cost.at_most_us) is not None}
    if not limits:
        return []
    kind = max(limits, key=lambda name: limits[name])
    note = f"no measurable delay; {HOW_COST} ({kind})"
    return [v.Figure(f"≤ {words.delay(limits[kind])}", "added by measuring", note)]


def _own_share(group: Group) -> v.Figure | None:
    emulated = WITHOUT_LINK in group.deltas
    total = group.deltas[WITHOUT_LINK if emulated else "total"].median.value
    user = group.rtt["app"].median
    if user.value is None:
        return None
    note = f"95 %: {words.interval(user.interval)}"
    if total is not None and user.value > 0:
        share = words.share(total / user.value)
        note += f"; {share} of it on the sender's side of the wire"
        note += ", without the emulated link" if emulated else ""
    note += _emulation(group)
    return v.Figure(words.delay(user.value), f"median user RTT, {group.label}", note)


def _emulation(group: Group) -> str:
    """Return the end of a note on a group's figure: virtual machines were emulated, if any were."""
    return f"; {group.emulation} (TCG)" if group.emulated else ""


def _largest_segment(groups: list[Group]) -> tuple[Group, SegmentSummary] | None:
    known = [
        (part.delay.median.value, index, part)
        for index, group in enumerate(groups)
        for part in group.segments[1:]
        if part.delay.median.value is not None and not part.merged
    ]
    if not known:
        return None
    _, index, part = max(known, key=lambda entry: entry[0])
    return groups[index], part
