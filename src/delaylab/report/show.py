"""Numbers of a study as JSON, for scripts."""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from pathlib import Path

from delaylab.analysis.analyse import Analysed, analyse, analysed
from delaylab.analysis.claims.finding import Finding, JudgedCriterion
from delaylab.analysis.clocks.align import ClockPair
from delaylab.analysis.clocks.fit import Part
from delaylab.analysis.clocks.least_squares import LeastSquares
from delaylab.analysis.doubts.clocks import TrialClocks
from delaylab.analysis.doubts.cpu_time import cpu_times
from delaylab.analysis.fairness import Share
from delaylab.analysis.group import Group, SegmentSummary
from delaylab.analysis.links.fidelity import TrialLink
from delaylab.analysis.links.verdict import RateCheck
from delaylab.analysis.over_time.slowest import SlowPacket
from delaylab.analysis.packets.instrument import Cost
from delaylab.analysis.statistics.quantiles import Interval, Quantile, Summary
from delaylab.analysis.statistics.shares import ShareCheck
from delaylab.analysis.treatments.check import Check, checks
from delaylab.analysis.usable import usable
from delaylab.analysis.work import Work
from delaylab.dataset.records.doubts import Doubt
from delaylab.dataset.records.trial import TrialRecord
from delaylab.dataset.store import Study
from delaylab.io.values import JsonObject
from delaylab.papers.findings import findings
from delaylab.papers.paper import Paper
from delaylab.progress import Progress, silent
from delaylab.report import scaling
from delaylab.report.arrange import cost_by_kind
from delaylab.report.fates import phase_json
from delaylab.report.outages import outage_json


def as_json(
    given: Path | Study | Analysed, paper: Paper | None = None, progress: Progress = silent
) -> JsonObject:
    """Return the study, its trials and its claims as plain JSON values; delays in µs.

    `rtt` is round trip, a segment's delay is one way. `instrument` is what the taps add to the
    user RTT at rest (round trip), by the sender's kind. A segment between two clocks can be
    off by its `bound_us`; a median smaller than that is null, with its upper limit and the reason.
    `phases` accounts for every packet of each phase; what was lost, duplicated or reordered is
    given by leg. `work` has each group's work, in which a share of 1 is a node's fair share, and
    times of `messages` are in ns: `round-trip` there and back, `exchange` about one way. `scaling`
    has the run times over the number of nodes, with their law and its prediction.
    `clocks` tells how a trial's clocks were aligned. `slowest` has a trial's slowest packets under
    load, each with the segment that it lost its time in: the one furthest above its median.
    `outages` are runs of packets without a reply, with times in s. What is about packets is empty
    in a trial without a probe.

    Raise `BadInput` for a damaged dataset.
    """
    found = analysed(given, progress)
    with usable(str(found.study.directory)):
        return _numbers(found.study, found.groups, paper)


def _numbers(study: Study, found: list[Group], paper: Paper | None) -> JsonObject:
    alone = {group.trials[0].id: group for group in found if len(group.trials) == 1}
    return {
        "study": study.record.study,
        "machine": study.record.machine.model_dump(),
        "trials": [_trial(study, trial, alone) for trial in study.trials],
        "work": [_work(group, work) for group in found for work in group.works],
        "scaling": scaling.as_json(study, found),
        "instrument": {kind: _cost(added) for kind, added in cost_by_kind(found).items()},
        "claims": [_claim(finding) for finding in findings(study, found, paper)],
    }


def _trial(study: Study, trial: TrialRecord, alone: dict[str, Group]) -> JsonObject:
    head = {
        "id": trial.id,
        "factors": trial.factors,
        "status": trial.status,
        "reason": trial.reason,
    }
    if trial.status != "ok":
        warnings = [_doubt(warning) for warning in trial.warnings]
        return {
            **head,
            "warnings": warnings,
            "phases": [],
            "lost_after": {},
            "rtt": {},
            "segments": [],
            "links": [],
            "machine_state": None,
            "clocks": [],
            "slowest": [],
            "outages": [],
            "loads": [],
        }
    group = alone.get(trial.id) or analyse(study, [trial])
    packets = group.packets
    return {
        **head,
        "warnings": [_doubt(doubt) for doubt in group.doubts],
        "phases": [phase_json(phase) for phase in packets.phases] if packets else [],
        "lost_after": packets.account.lost_after if packets else {},
        "rtt": {name: _summary(summary) for name, summary in group.rtt.items()},
        "segments": [_segment(segment) for segment in group.segments],
        "links": [_link(link) for link in group.directions if link.trial == trial.id],
        "machine_state": asdict(group.machine.state),
        "clocks": [
            _clock(trial, hop)
            for trial in (packets.clocks if packets else ())
            for hop in trial.alignment.hops
        ],
        "slowest": [_slow(packet) for packet in packets.slowest] if packets else [],
        "outages": [
            outage_json(each)
            for line in (packets.timelines if packets else ())
            for each in line.outages
        ],
        "loads": [_acted(check) for check in checks(group)],
    }


def _work(group: Group, work: Work) -> JsonObject:
    fair = work.fairness
    apart = {each.node: each for each in cpu_times(group.trials) if each.work == work.name}
    shares = fair.shares if fair is not None else {}
    return {
        "factors": group.factors,
        "work": work.name,
        "unit": work.unit,
        "said": fair.said if fair is not None else None,
        "jain": fair.jain if fair is not None else None,
        "most_over_least": fair.spread if fair is not None and isfinite(fair.spread) else None,
        "settled_s": work.settled_s,
        "failed": work.failed,
        "together": work.together,
        "messages": [asdict(each) for each in work.messages],
        "figures": [asdict(each) for each in work.figures],
        "nodes": {
            node: {
                **asdict(done),
                "cpu_times_differ": apart[node].differ if node in apart else None,
                "cpu_times_agree": apart[node].agree if node in apart else None,
                **_share(shares.get(node)),
            }
            for node, done in work.nodes.items()
        },
    }


def _share(share: Share | None) -> JsonObject:
    if share is None:
        return {"share_of_fair": None, "share_of_fair_interval": None}
    of_fair = share.of_fair
    return {
        "share_of_fair": of_fair.value,
        "share_of_fair_interval": _interval(of_fair.interval),
        "share_of_cpu_time": share.cpu,
        "share_of_speed": share.speed,
    }


def _acted(check: Check) -> JsonObject:
    return {
        "load": check.load,
        "check": check.quantity,
        "value": check.value,
        "least": check.least,
        "unit": check.unit,
        "acted": check.acted,
    }


def _slow(packet: SlowPacket) -> JsonObject:
    part = packet.lost_in
    return {
        "probe": packet.probe,
        "seq": packet.seq,
        "after_s": packet.after_s,
        "rtt_us": packet.rtt_us,
        "median_rtt_us": packet.usual_us,
        "lost_in": {
            "leg": part.leg,
            "from": part.start,
            "to": part.end,
            "layer": part.layer,
            "at": part.at,
            "direction": part.direction,
            "delay_us": part.delay_us,
            "median_us": part.usual_us,
        },
        "machine": {
            "busy": packet.busy,
            "steal": packet.steal,
            "pressure": packet.pressure,
        },
    }


def _doubt(doubt: Doubt) -> JsonObject:
    return {"kind": doubt.kind, "message": doubt.message, "remedy": doubt.remedy}


def _share_check(check: ShareCheck) -> JsonObject:
    return {
        "asked": check.configured,
        "achieved": check.achieved,
        "interval": list(check.interval),
        "judged": list(check.judged),
    }


def _rate_check(check: RateCheck) -> JsonObject:
    return {"asked": check.configured, "achieved": check.achieved}


def _link(link: TrialLink) -> JsonObject:
    verdict, direction = link.verdict, link.verdict.direction
    first = direction.configured_first
    return {
        "link": direction.link,
        "from": direction.nodes or [direction.node],
        "host": verdict.host,
        "held": verdict.held,
        "why_not": list(verdict.why),
        "asked": direction.configured.message(),
        "asked_first": first.message() if first is not None else None,
        "frames_in": direction.entered.frames,
        "frames_out": direction.left.frames,
        "dropped": direction.dropped.model_dump(),
        "late_ns": direction.late.model_dump(),
        "floor_ns": verdict.noise.model_dump(),
        "probe_us": asdict(link.measured) if link.measured else None,
        "shares": {name: _share_check(check) for name, check in verdict.shares.items()},
        "rate_bps": _rate_check(verdict.rate) if verdict.rate else None,
    }


def _clock(trial: TrialClocks, hop: ClockPair) -> JsonObject:
    fit = hop.fit
    return {
        "clock": fit.clock,
        "reference": fit.reference,
        "between": trial.between(hop),
        "aligned": bool(fit.parts),
        "why": fit.why,
        "bound_us": fit.bound_ns / 1000 if fit.parts else None,
        "parts": [_part(part) for part in fit.parts],
        "steps": [
            {"time_ns": c.time_ns, "size_us": c.size_ns / 1000, "certain": c.kind == "step"}
            for c in fit.changes
            if c.kind != "slew"
        ],
        "slews": [
            {"time_ns": c.time_ns, "rate_ppm": c.rate_ppm} for c in fit.changes if c.kind == "slew"
        ],
        "tick_us": {name: tick / 1000 for name, tick in trial.alignment.ticks.items()},
        "checks": [
            {"n": c.n, "error_us": c.error_ns / 1000, "within_us": c.within_ns / 1000}
            | {"agrees": c.agrees}
            for c in trial.checks
            if {c.clock, c.reference} == {fit.clock, fit.reference}
        ],
    }


def _part(part: Part) -> JsonObject:
    squares = part.squares
    return {
        "start_ns": part.start_ns,
        "end_ns": part.end_ns,
        "offset_ns": part.line.ahead(part.start_ns),
        "drift_ppm": part.line.drift_ppm,
        "bound_us": part.bound_ns / 1000,
        "residual_us": _known(part.residual_ns),
        "least_squares": _squares(part, squares) if squares else None,
    }


def _squares(part: Part, squares: LeastSquares) -> JsonObject:
    return {
        "offset_ns": squares.line.ahead(part.start_ns),
        "drift_ppm": squares.line.drift_ppm,
        "residual_us": _known(squares.residual_ns),
        "apart_us": _known(part.apart_ns),
        "outside_the_bound": part.disagree,
    }


def _known(ns: float | None) -> float | None:
    return None if ns is None else ns / 1000


def _cost(found: Cost) -> JsonObject:
    added = found.added
    return {
        "tapped_n": found.tapped_n,
        "untapped_n": found.untapped_n,
        "pairs": found.pairs,
        "trials": found.trials,
        "tapped_median_us": found.tapped_us,
        "untapped_median_us": found.untapped_us,
        "added_us": added.value if added else None,
        "added_us_interval": _interval(added.interval if added else None),
        "why": found.why,
    }


def _segment(segment: SegmentSummary) -> JsonObject:
    return {
        "leg": segment.leg,
        "from": segment.start,
        "to": segment.end,
        "layer": segment.layer,
        "direction": segment.direction,
        "at": segment.at,
        "merged": segment.merged,
        **_summary(segment.delay),
        "bound_us": segment.bound_us,
        "at_most_us": segment.delay.median.at_most,
        "why": segment.delay.median.why,
    }


def _summary(summary: Summary) -> JsonObject:
    return {
        "n": summary.n,
        "n_effective": summary.n_effective,
        **{
            key: value
            for name, found in summary.quantiles.items()
            for key, value in _quantile(f"{name}_us", found).items()
        },
        "max_us": summary.max,
        "refused": {
            f"{name}_us": found.why
            for name, found in summary.quantiles.items()
            if found.value is None
        },
    }


def _quantile(name: str, quantile: Quantile) -> JsonObject:
    return {name: quantile.value, f"{name}_interval": _interval(quantile.interval)}


def _interval(found: Interval | None) -> list[float] | None:
    """Return the ends of an interval; None if there is none, or if it is infinite."""
    return list(found) if found and all(map(isfinite, found)) else None


def _claim(finding: Finding) -> JsonObject:
    return {
        "id": finding.id,
        "text": finding.text,
        "paper": finding.claimed_by or None,
        "source": finding.place,
        "sentence": finding.sentence,
        "verdict": finding.verdict,
        "why": finding.why,
        "effect": finding.effect,
        "effect_of": finding.of,
        "interval": _interval(finding.interval),
        "unit": finding.unit,
        "rule": finding.rule,
        "published": finding.published,
        "criteria": [_criterion(criterion) for criterion in finding.criteria],
        "doubts": [asdict(doubt) for doubt in finding.doubts],
    }


def _criterion(judged: JudgedCriterion) -> JsonObject:
    return {
        "effect_of": judged.quantity,
        "unit": judged.unit,
        "rule": judged.rule,
        "holds": judged.stand,
        "scenarios": [
            {
                "name": scenario.name,
                "effect": scenario.effect,
                "interval": _interval(scenario.interval),
                "published": scenario.published,
                "holds": scenario.stand,
                "aside": scenario.aside,
            }
            for scenario in judged.scenarios
        ],
    }
