"""Links with conditions: configured against achieved."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace

from delaylab.api.conditions import conditions_in_words
from delaylab.api.files import JsonObject
from delaylab.api.records import MeasuredUnderlay
from delaylab.api.verdicts import Lateness, LinkVerdict, RateCheck, ShareCheck
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.links.fidelity import TrialLink
from delaylab_study.charts import words
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.report import value as v
from delaylab_study.report import written
from delaylab_study.report.sections.section import Report

# Largest number of directions that the terminal shows.
IN_TERMINAL = 12
# Largest number of rows that the page shows before a reader unfolds the rest.
SHOWN = 24
TITLE = "Links with conditions: one way, what one node sends, or receives"
NOTE = (
    "One way, what one node sends. Late: send time − due time of all frames, by the engine's own "
    "record. Probe: measured delay between the ports before and after the engine − configured "
    "delay; if the conditions make the delay vary (jitter, rate, trace), the measured delay alone. "
    "Shares with their exact 95 % interval."
)


COLUMNS = (
    v.Column("link, trials, configured", "label", v.TERMINAL, ratio=1, long="fold"),
    v.Column("trials", "label", v.PAGE, key="trials"),
    v.Column("link", "text", v.PAGE),
    v.Column("configured, one way", "text", v.PAGE, key="configured"),
    v.Column("frames in → out", on=v.PAGE),
    *(v.Column(f"{what}, p50 / p99", on=v.WIDE + v.PAGE) for what in ("late", "probe")),
    v.Column("p50 / p99, verdict", "label", v.NARROW, ratio=1, long="fold"),
    v.Column("achieved", "text", v.PAGE, key="achieved"),
    v.Column("rate", on=v.PAGE),
    v.Column("verdict", "text", v.PAGE),
    v.Column("verdict", "label", v.WIDE, ratio=1, long="fold"),
)


NUMBER = re.compile(r"\d+(?:\.\d+)?(?: [µmn]?s\b)?|once|twice")
"""The numbers of a reason, with which it is another in each trial."""
NAMED = 3
"""The most combinations of levels that a reason names."""


def section(report: Report) -> v.Section:
    """Return the table of links with conditions that were used, and what their engines did.

    Directions that did not hold come first. A reason that concerns all links of an engine is said
    once, and so is what the network between two machines did in a group of trials.
    """
    found = [
        (group.label, link)
        for group in report.groups
        for link in group.directions
        if link.verdict.used or link.verdict.own
    ]
    if not found:
        return v.Section("links", [])
    found.sort(key=lambda each: each[1].verdict.held)
    held = sum(link.verdict.held for _, link in found)
    summary = f"{held} of {len(found)} directions kept their conditions.{_floor(report.groups)}"
    engines, underlays = _engines(report.groups), [*_underlays(report.groups)]
    rows = [_row(*each) for each in found]
    table = v.Table(COLUMNS, rows, TITLE, summary, most=IN_TERMINAL, more="rows")
    return v.Section(
        "links",
        [
            v.Heading("Links: configured and achieved", 2),
            v.note(f"{summary} {NOTE}"),
            *(v.note(f"Not held, {why}.") for why in engines),
            *(v.note(f"{line}.") for line in underlays),
            v.unfolded(
                f"All {len(rows)} rows",
                [replace(table, key="links", on=v.PAGE)],
                when=len(rows) > SHOWN,
            ),
            replace(table, on=v.TERMINAL),
            *(v.Line(f"not held, {why}", "open", on=v.TERMINAL) for why in engines),
            *(v.Line(line, "faint", on=v.TERMINAL) for line in underlays[:IN_TERMINAL]),
        ],
    )


def trial_json(trial: TrialRecord, group: Group | None) -> JsonObject:
    """Return what each direction of a link did in the trial."""
    found = group.directions if group else []
    return {"links": [_json(link) for link in found if link.trial == trial.id]}


def _engines(groups: list[Group]) -> list[str]:
    """Return the reasons of engines, each with the trials that it concerns.

    Reasons that differ in their numbers alone are one line, with the numbers of the first.
    """
    alike: dict[str, dict[str, dict[str, None]]] = {}
    for group in groups:
        for link in group.directions:
            for why in link.verdict.of_engine:
                whys = alike.setdefault(NUMBER.sub("#", why), {})
                whys.setdefault(why, {})[group.label] = None
    return [_of_engine(whys) for whys in alike.values()]


def _of_engine(whys: dict[str, dict[str, None]]) -> str:
    """Return reasons that differ in their numbers alone as one line."""
    labels = [*dict.fromkeys(label for of in whys.values() for label in of)]
    why = next(iter(whys))
    if len(labels) <= NAMED:
        return f"{'; '.join(labels)}: {why}" + (", or alike" if whys.keys() - {why} else "")
    others = ", or alike" if len(whys) > 1 else ""
    return f"in {len(labels)} combinations of levels, such as {labels[0]}: {why}{others}"


def _underlays(groups: list[Group]) -> Iterator[str]:
    """Yield what the network between each two machines did, in the trials of each group."""
    for group in groups:
        pairs: dict[tuple[str, str], list[MeasuredUnderlay]] = {}
        for each in (each for trial in group.trials for each in trial.underlays if each.links):
            pairs.setdefault((each.machine, each.other), []).append(each)
        for (one, other), found in pairs.items():
            yield f"Network between machines {one} and {other}, {group.label}: {_measured(found)}"


def _measured(underlays: Sequence[MeasuredUnderlay]) -> str:
    """Return what probes say of the network between two machines in some trials, in words."""
    sent, lost = sum(each.sent for each in underlays), sum(each.lost for each in underlays)
    least = min((each.least_rtt_ns for each in underlays if each.least_rtt_ns), default=None)
    p99 = max((each.p99_rtt_ns for each in underlays if each.p99_rtt_ns), default=None)
    if least is None or p99 is None:
        return f"none of {sent} probes came back"
    worst = "p99" if len(underlays) == 1 else "largest p99"
    return (
        f"round trip {words.delay(least / 1000)} at least, {worst} {words.delay(p99 / 1000)}; "
        f"{lost} of {sent} probes lost"
    )


def _floor(groups: list[Group]) -> str:
    """Return the worst delays by the engines' own CPUs as a sentence, or "" if not known."""
    floors = (link.verdict.noise for group in groups for link in group.directions)
    worst = max((f for f in floors if f.known), key=lambda floor: floor.p99_ns, default=None)
    return f" Link engines, in the worst trial: {worst.text}." if worst else ""


def _row(label: str, link: TrialLink) -> v.Row:
    verdict, direction = link.verdict, link.verdict.direction
    name = verdict.name.removeprefix("link ")
    configured = conditions_in_words(direction.configured) or "nothing"
    entered = v.Value("frames_in", direction.entered.frames)
    frames = (entered, " → ", v.Value("frames_out", direction.left.frames))
    late, probe, said = _late(link), _probe(link), _verdict(verdict)
    chances, rate = _chances(link) or ("–",), _rate(link)
    achieved = [part for part in (chances, rate) if part[0] != "–"]
    tone: v.Tone = "good" if verdict.held else "open"
    held = v.Value("held", verdict.held, how=written.said(said), tone=tone)
    judged = (held, *(each for part in achieved for each in ("\n", *part)))
    folded = ("late ", *late, "\nprobe ", *probe, "\n", *judged)
    head = (v.Span(name, "strong"), f" {label}\n{configured}")
    nodes = ", ".join(direction.nodes or [direction.node or ""])
    dropped = {"queue": direction.dropped.queue, "early": direction.dropped.early}
    which = {"trial": link.trial, "host": verdict.host} | {
        side: nodes if direction.preposition == side else None for side in ("from", "to")
    }
    unseen = v.values(which | {f"dropped_{key}": n for key, n in dropped.items()})
    ends = (v.Value("link", direction.link, how=written.said(name)), *v.unseen(*unseen))
    return [
        *(head, label, ends, configured, frames, late, probe),
        *(folded, chances, rate, replace(held, tone=""), judged),
    ]


def _verdict(verdict: LinkVerdict) -> str:
    """Return the verdict in words; the reasons of its engine are said once for all its links."""
    if not verdict.of_engine:
        return verdict.text
    said = f"not held, because of the engine of {', '.join(verdict.at_fault)} (see there)"
    return "; ".join([said, *verdict.of_direction])


def _late(link: TrialLink) -> v.Parts:
    late = link.verdict.late
    p50, p99 = v.Value("late_p50_ns", late.p50_ns, "ns"), v.Value("late_p99_ns", late.p99_ns, "ns")
    if not late.count or late.p50_ns is None or late.p99_ns is None:
        return ("–", *v.unseen(p50, p99))
    return (p50, " / ", p99)


def _probe(link: TrialLink) -> v.Parts:
    found = link.measured
    error = found.error if found else None
    known = {
        "probe_median_us": found.median if found else None,
        "probe_p99_us": found.p99 if found else None,
        "probe_error_median_us": error.median if error else None,
        "probe_error_p99_us": error.p99 if error else None,
    }
    median, p99, *others = v.values(known, "us")
    if found is None:
        return ("–", *v.unseen(median, p99, *others))
    if error is None:
        return (median, " / ", p99, " in all", *v.unseen(*others))
    one, other = (replace(each, how=written.signed) for each in others)
    return (one, " / ", other, *v.unseen(median, p99))


def _chances(link: TrialLink) -> v.Parts:
    """Return what happened to frames by chance, by a link that was not up, and by its queue."""
    found: list[v.Parts] = []
    if link.verdict.downtimes is not None:
        found.append((link.verdict.downtimes.text,))
    for name, check in link.verdict.shares.items():
        share = v.Value(
            f"{name}_achieved", check.achieved, "share", check.interval, how=written.exact_share
        )
        configured = v.Value(f"{name}_configured", check.configured, "share")
        found.append((f"{name} ", share, *v.unseen(configured)))
    dropped = link.verdict.direction.dropped
    for name, count in (("queue", dropped.queue), (_discipline(link), dropped.early)):
        if count:
            found.append((f"{count} dropped by {name}",))
    return tuple(
        each for at, part in enumerate(found) for each in (*((", ",) if at else ()), *part)
    )


def _discipline(link: TrialLink) -> str:
    queue = link.verdict.direction.configured.queue
    return queue.discipline.kind if queue and queue.discipline else "discipline"


def _rate(link: TrialLink) -> v.Parts:
    rate = link.verdict.rate
    achieved, configured = v.values(
        {
            "rate_achieved_bps": rate.achieved if rate else None,
            "rate_configured_bps": rate.configured if rate else None,
        },
        "bit/s",
    )
    if rate is None:
        return ("–", *v.unseen(achieved, configured))
    achieved = replace(achieved, how=written.megabit(".3f"))
    return (achieved, " of ", replace(configured, how=written.megabit("g")), " Mbit/s")


def _share_check(check: ShareCheck) -> JsonObject:
    return {
        "asked": check.configured,
        "achieved": check.achieved,
        "interval": list(check.interval),
        "judged": list(check.judged),
    }


def _rate_check(check: RateCheck) -> JsonObject:
    return {"asked": check.configured, "achieved": check.achieved}


def _json(link: TrialLink) -> JsonObject:
    verdict, direction = link.verdict, link.verdict.direction
    first = direction.configured_first
    return {
        "link": direction.link,
        direction.preposition: direction.nodes or [direction.node],
        "host": verdict.host,
        "held": verdict.held,
        "why_not": list(verdict.why),
        "asked": direction.configured.message(),
        "asked_first": first.message() if first is not None else None,
        "frames_in": direction.entered.frames,
        "frames_out": direction.left.frames,
        "dropped": direction.dropped.model_dump(),
        **({"downtimes": asdict(verdict.downtimes)} if verdict.downtimes else {}),
        "late_ns": direction.late.model_dump(),
        **_late_json(verdict.late),
        "floor_ns": verdict.noise.model_dump(),
        "probe_us": asdict(link.measured) if link.measured else None,
        "shares": {name: _share_check(check) for name, check in verdict.shares.items()},
        "rate_bps": _rate_check(verdict.rate) if verdict.rate else None,
        **_underlay_json(verdict),
    }


def _late_json(late: Lateness) -> JsonObject:
    """Return how late frames are at their receiver, where more than one engine is at work."""
    if not late.passing and not late.network_ns:
        return {}
    passing = {each.host: each.direction.late.model_dump() for each in late.passing}
    total = {"p50_ns": late.p50_ns, "p99_ns": late.p99_ns}
    return {
        "late_passing_ns": passing,
        "late_network_ns": late.network_ns,
        "late_at_receiver_ns": total,
    }


def _underlay_json(verdict: LinkVerdict) -> JsonObject:
    """Return the network that a link crosses: as subtracted from its delay, and as measured."""
    subtracted = verdict.direction.underlay
    if subtracted is None and not verdict.crossed:
        return {}
    during = [each.model_dump(exclude={"hosts", "links"}) for each in verdict.crossed]
    return {
        "underlay": {
            "subtracted": subtracted.model_dump() if subtracted else None,
            "during": during,
        }
    }
