"""Contents of the HTML page, gathered for its template."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from delaylab.analysis.claims.finding import Verdict
from delaylab.analysis.group import Group, SegmentSummary
from delaylab.analysis.over_time.changes import changes
from delaylab.analysis.packets.instrument import Cost
from delaylab.analysis.packets.rtt import LINK, WITHOUT_LINK
from delaylab.analysis.scaling.series import scaled_work
from delaylab.analysis.treatments.check import Check, checks
from delaylab.charts import words
from delaylab.charts.delays import all_charts
from delaylab.charts.layer_table import Part, layers
from delaylab.charts.messages import message_charts
from delaylab.charts.over_time import over_time
from delaylab.charts.scaling import scaling_charts
from delaylab.charts.tables import Table
from delaylab.charts.vega import Chart
from delaylab.charts.work import work_charts
from delaylab.dataset.records.trial import TrialRecord
from delaylab.dataset.store import Study
from delaylab.papers import calls
from delaylab.papers.findings import Claimed, by_claimant, findings, repeated
from delaylab.papers.paper import Paper
from delaylab.report.arrange import (
    DoubtsOfAKind,
    Panel,
    cost_by_kind,
    doubts_by_kind,
    missing_trials,
    panels,
    probed,
)
from delaylab.report.clocks import Clocks, clocks
from delaylab.report.fates import Fate, fates
from delaylab.report.links import Links, links
from delaylab.report.outages import outage_lines
from delaylab.report.packet_path import drawing
from delaylab.report.scaling import Part as ScalingPart
from delaylab.report.scaling import parts as scaling_parts
from delaylab.report.slowest import Row as Slow
from delaylab.report.slowest import row as slow
from delaylab.report.slowest import slowest
from delaylab.report.work import Part as WorkPart
from delaylab.report.work import parts as work_parts

# Largest number of rows of a drawing that the page shows before a reader unfolds the rest.
WAY_ROWS = 24
HOW_COST = "median user RTT at rest with taps minus that without"


@dataclass(frozen=True, slots=True)
class Figure:
    """Large number at the top of the page."""

    value: str
    name: str
    note: str


@dataclass(frozen=True, slots=True)
class WayDrawing:
    """Drawing of the packet's way for one panel."""

    name: str
    heading: str
    svg: str
    rows: int

    @property
    def many(self) -> bool:
        """Return True if there are too many rows to show at once."""
        return self.rows > WAY_ROWS

    @property
    def inline(self) -> str:
        """Return the SVG with the page's own text colour as its ink."""
        return self.svg.replace(' color="#20242a"', "", 1)


@dataclass(frozen=True, slots=True)
class Absent:
    """Points without stamps, their reason, and the kinds of sender for which that is true."""

    points: list[str]
    reason: str
    kinds: list[str]


@dataclass(frozen=True, slots=True)
class CheckedLoads:
    """Group with loads, and the checks that these did what they stand for."""

    label: str
    checks: list[Check]


@dataclass(frozen=True, slots=True)
class Page:
    """Contents of the page, as the template shows them."""

    study: Study
    note: str
    paper: Paper | None
    groups: list[Group]
    figures: list[Figure]
    ways: list[WayDrawing]
    absent: list[Absent]
    claims: list[Claimed]
    charts: list[Chart]
    layer_table: list[Part]
    layer_note: str
    tables: list[Table]
    cost: dict[str, Cost]
    clocks: Clocks | None
    links: Links | None
    doubts: list[DoubtsOfAKind]
    over_time: Chart | None
    outages: list[str]
    slowest: list[Slow]
    slowest_by_trial: dict[str, list[Slow]]
    loads: list[CheckedLoads]
    fates: list[Fate]
    work: list[WorkPart]
    work_charts: list[Chart]
    scaling: list[ScalingPart]
    scaling_charts: list[Chart]
    unfinished: list[TrialRecord]
    missing: list[str]

    @property
    def probed(self) -> list[Group]:
        """Return the groups with packets."""
        return probed(self.groups)

    @property
    def emulated_link(self) -> bool:
        """Return True if the table of layers has a column of an emulated link."""
        return any(LINK in part.terms for part in self.layer_table)

    @property
    def published(self) -> bool:
        """Return True if the table of layers has a number of the paper's."""
        cells = [cell for part in self.layer_table for _, row in part.rows for cell in row]
        return any(cell.paper or cell.paper_p99 for cell in cells)


def gather(study: Study, groups: list[Group], given: Paper | None = None) -> Page:
    """Return the page of a study from its analysed groups, with the parts of a paper it repeats.

    `given` is the paper to take instead of the one that the study names.
    """
    claims = by_claimant(findings(study, groups, given), given)
    shown = repeated(study.record, given)
    paper = shown.paper
    with_packets = probed(groups)
    return Page(
        study=study,
        note=shown.note,
        paper=paper,
        groups=groups,
        figures=_figures(study, groups, claims),
        ways=[_way(index, panel) for index, panel in enumerate(panels(groups), start=1)],
        absent=_absent(groups),
        claims=claims,
        # The figures of any study are of packets. A paper's own may be of work alone.
        charts=calls.charts(paper, groups) if paper else all_charts(with_packets),
        layer_table=calls.layer_table(paper, with_packets) if paper else layers(with_packets),
        layer_note=paper.layer_note if paper else "",
        tables=calls.tables(paper, groups) if paper else [],
        cost=cost_by_kind(groups),
        clocks=clocks(groups),
        links=links(groups),
        doubts=doubts_by_kind(groups),
        over_time=over_time(groups, changes(study)),
        outages=outage_lines(groups),
        slowest=slowest(groups),
        slowest_by_trial={
            group.label: [slow(group.label, packet) for packet in group.packets.slowest]
            for group in groups
            if group.packets and group.packets.slowest
        },
        loads=[CheckedLoads(group.label, done) for group in groups if (done := checks(group))],
        fates=fates(groups),
        work=work_parts(groups),
        work_charts=[*work_charts(groups), *message_charts(groups)],
        scaling=scaling_parts(study, groups),
        scaling_charts=scaling_charts(scaled_work(groups, study.record)),
        unfinished=[trial for trial in study.trials if trial.status != "ok"],
        missing=missing_trials(study),
    )


def _way(index: int, panel: Panel) -> WayDrawing:
    return WayDrawing(
        f"way-{index}-{panel.groups[0].kind}",
        panel.heading,
        drawing(panel),
        len(panel.groups),
    )


def _absent(groups: list[Group]) -> list[Absent]:
    kinds: dict[tuple[str, str], dict[str, None]] = {}
    for group in groups:
        for missing in group.packets.account.absent.items() if group.packets else ():
            kinds.setdefault(missing, {})[group.kind] = None
    together: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (point, reason), found in kinds.items():
        together.setdefault((reason, tuple(found)), []).append(point)
    return [Absent(points, reason, list(of)) for (reason, of), points in together.items()]


def _figures(study: Study, groups: list[Group], claims: list[Claimed]) -> list[Figure]:
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
            Figure(words.quantile(part.delay.median), "largest median of a segment", note)
        )
    figures += [_verdicts(each) for each in claims]
    figures += _cost(groups)
    trials = f"{sum(len(g.trials) for g in groups)} of {len(study.record.planned)} trials"
    if probed(groups):
        phases = [phase for each in groups if each.packets for phase in each.packets.phases]
        packets = sum(phase.scheduled for phase in phases)
        lost = sum(phase.lost.total for phase in phases)
        note = f"{lost} lost, {trials}"
        figures.append(Figure(f"{packets:,}".replace(",", " "), "packets", note))
    elif groups:
        nodes = sum(len(trial.work) for group in groups for trial in group.trials)
        figures.append(Figure(str(nodes), "jobs of nodes", f"{_failed(groups)} failed, {trials}"))
    return figures


def _verdicts(claimed: Claimed) -> Figure:
    """Return how many claims are reproduced, or hold, and how many have each other verdict."""
    counts = Counter(each.verdict for each in claimed.findings)
    yes: Verdict = "reproduced" if claimed.name else "holds"
    no: Verdict = "contradicted" if claimed.name else "does not hold"
    others: tuple[Verdict, ...] = (no, "open", "not testable here")
    rest = ", ".join(f"{counts[name]} {name}" for name in others if counts[name])
    note = rest or "each at both ends of its 95 % interval"
    name = f"claims of {claimed.name} reproduced" if claimed.name else "claims of this study hold"
    return Figure(f"{counts[yes]} of {len(claimed.findings)}", name, note)


def _failed(groups: list[Group]) -> int:
    """Return the number of jobs that failed."""
    jobs = (work for group in groups for trial in group.trials for work in trial.work)
    return sum(work.failed is not None for work in jobs)


def _cost(groups: list[Group]) -> list[Figure]:
    """Return what the taps add where that is most; if it is nowhere measurable, its upper limit."""
    known = {kind: cost for kind, cost in cost_by_kind(groups).items() if cost.added}
    seen = {
        kind: cost.added.value for kind, cost in known.items() if cost.added and cost.measurable
    }
    if seen:
        kind = max(seen, key=lambda name: seen[name])
        note = f"{words.cost(known[kind])}; {HOW_COST} ({kind})"
        return [Figure(words.delay(seen[kind]), "added by measuring", note)]
    limits = {kind: most for kind, cost in known.items() if (most := cost.at_most_us) is not None}
    if not limits:
        return []
    kind = max(limits, key=lambda name: limits[name])
    note = f"no measurable delay; {HOW_COST} ({kind})"
    return [Figure(f"≤ {words.delay(limits[kind])}", "added by measuring", note)]


def _own_share(group: Group) -> Figure | None:
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
    return Figure(words.delay(user.value), f"median user RTT, {group.label}", note)


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
