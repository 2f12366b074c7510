"""Trials of several machines: may they be pooled?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from delaylab.api.files import JsonObject
from delaylab_study.analysis.claims.doubted import UNDERMINING, kinds_by_trial
from delaylab_study.analysis.compared.machines import MARGIN, MachinePair, machine_pairs
from delaylab_study.report import value as v
from delaylab_study.report import written
from delaylab_study.report.sections.section import Report, interval

COLUMNS = (
    v.Column("levels", "label", key="levels"),
    v.Column("machines", "text", key="machines"),
    *map(v.Column, ("trials", "median of the first", "median of the second")),
    v.Column("difference [95 %]"),
    v.Column("may be pooled", "text", key="may_be_pooled"),
)
SAYS = {True: "yes", False: "no", None: "not known"}
NOTE = (
    "The same levels on two machines: the user RTT (round trip) without the delays of links. "
    f"Trials may be pooled if the difference of the medians is within ± {MARGIN:.0%} of the larger "
    "median with its whole 95 % interval; not if it is outside with all of it. Each block of "
    "trials ran on one machine, so differences of levels hold for either answer."
)


def section(report: Report) -> v.Section:
    """Return the comparisons of the machines that ran trials of the same levels."""
    found = machine_pairs(report.probed)
    if not found:
        return v.Section("pooling", [])
    return v.Section(
        "pooling",
        [
            v.Heading("Trials of several machines", 2),
            *(v.Line(said) for said in (*_said(found), *_doubted(report))),
            v.note(NOTE),
            v.Table(COLUMNS, [_row(pair) for pair in found], "Machines", NOTE, key="pooling"),
        ],
    )


def study_json(report: Report) -> JsonObject:
    """Return the comparisons; nothing for a study on one machine."""
    found = machine_pairs(report.probed)
    return {"pooling": [_json(pair) for pair in found]} if found else {}


def _said(found: list[MachinePair]) -> Iterator[str]:
    """Yield a line for each two machines: for how many combinations of levels they are alike."""
    for machines in dict.fromkeys((pair.first, pair.second) for pair in found):
        answers = Counter(
            pair.may_be_pooled for pair in found if (pair.first, pair.second) == machines
        )
        parts = [f"{SAYS[answer]} for {n}" for answer, n in answers.items()]
        yield (
            f"{' and '.join(machines)}: may trials be pooled? {', '.join(parts)} of "
            f"{answers.total()} combinations of levels"
        )


def _doubted(report: Report) -> Iterator[str]:
    """Yield a line for each machine: how many of its trials are in doubt, and why.

    Doubts are those that leave claims open.
    """
    doubts = kinds_by_trial(report.groups)
    by_machine: dict[str, list[set[str]]] = {}
    for trial in (each for group in report.groups for each in group.trials):
        if trial.machine is not None:
            undermining = {kind for kind in doubts[trial.id] if kind in UNDERMINING}
            by_machine.setdefault(trial.machine, []).append(undermining)
    for machine, found in sorted(by_machine.items()):
        why = sorted(set[str]().union(*found))
        in_doubt = sum(map(bool, found))
        yield (
            f"{machine}: {len(found)} trials, {in_doubt} of them in doubt"
            + (f" ({', '.join(why)})" if why else "")
        )


def _row(pair: MachinePair) -> v.Row:
    effect = pair.difference_us
    return [
        pair.levels,
        f"{pair.first}, {pair.second}",
        f"{pair.trials[0]}, {pair.trials[1]}",
        v.Value("first_us", pair.medians_us[0], "us"),
        v.Value("second_us", pair.medians_us[1], "us"),
        v.Value("difference_us", effect.value, "us", effect.interval, (), written.change),
        SAYS[pair.may_be_pooled],
    ]


def _json(pair: MachinePair) -> JsonObject:
    return {
        "levels": pair.levels,
        "machines": [pair.first, pair.second],
        "trials": list(pair.trials),
        "medians_us": list(pair.medians_us),
        "difference_us": pair.difference_us.value,
        "interval_us": interval(pair.difference_us.interval),
        "margin_us": pair.margin_us,
        "may_be_pooled": pair.may_be_pooled,
    }
