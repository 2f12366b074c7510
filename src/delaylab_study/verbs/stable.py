"""Verb `doctor --stable`: one null trial many times, and whether this machine is fit to measure.

Nothing differs between the trials, so whatever differs is the machine's. It is what PASTRAMI
asks of a test bed: how far repeats spread, what is lost at a low load, and whether two sides that
are the same are found to be the same.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.console import Console

from delaylab.api.documents import Document
from delaylab.api.errors import BadInput
from delaylab.api.files import JsonObject
from delaylab.api.plans import KINDS
from delaylab.api.progress import Progress
from delaylab_study.analysis.analyse import analysed
from delaylab_study.analysis.claims.doubted import UNDERMINING, doubts_of
from delaylab_study.analysis.claims.groups import by_repeat
from delaylab_study.analysis.compared.levels import levels_of
from delaylab_study.analysis.group import Group
from delaylab_study.charts import words
from delaylab_study.study import order, runner
from delaylab_study.study.executor import Here
from delaylab_study.study_file.combine import StudyFile
from delaylab_study.study_file.load import study_from

SPREAD = 0.10
"""The largest range of the trials' medians, as a share of their median: a bound of our own."""
FEWEST, MOST = 6, 1000
"""The fewest trials of which anything is said: three pairs, and the most."""
SIDES = ("A", "B")
PACKETS, EVERY = 400, "5ms"


@dataclass(frozen=True, slots=True)
class Stability:
    """The answer of null trials about a machine. Delays are medians of the user RTT, in µs.

    `spread` is the range of the trials' medians as a share of their median, `difference_us` that of
    side B less side A with its 95 % interval. `doubts` are those that leave verdicts open.
    """

    kind: str
    trials: int
    sent: int
    lost: int
    median_us: float
    spread: float
    difference_us: float
    interval_us: tuple[float, float]
    doubts: tuple[str, ...]

    @property
    def faults(self) -> list[str]:
        """Return why the machine is not fit to measure, in words; nothing if it is."""
        return list(_faults(self))


def examine(kind: str, trials: int, progress: Progress) -> Stability:
    """Return what null trials say of this machine.

    Raise BadInput if the kind is not known or the number is out of bounds.
    """
    if kind not in KINDS:
        raise BadInput(f"no kind {kind!r}", "--kind", f"one of {', '.join(KINDS)}")
    if not FEWEST <= trials <= MOST:
        raise BadInput(f"from {FEWEST} to {MOST} null trials, not {trials}", "--trials")
    study = _study(kind, (trials + 1) // 2)
    with tempfile.TemporaryDirectory(prefix="delaylab-stable-") as folder:
        planned = order.plan_trials(study, "quick", {})
        out = order.begin(study, "quick", planned, Path(folder) / "data")
        done = 0

        def on_start(_trial: order.Planned, _machine: str) -> None:
            nonlocal done
            progress(f"null trial {done + 1} of {len(planned)}", done / len(planned))
            done += 1

        with Here() as here:
            runner.run(out, planned, here, lambda _: None, on_start)
        found = analysed(out)
        return of_groups(kind, found.groups)


def of_groups(kind: str, groups: Sequence[Group]) -> Stability:
    """Return what finished null trials say; raise BadInput if too few have finished."""
    medians = [
        float(np.median(packets["app"].to_numpy()))
        for group in groups
        for packets in by_repeat(group, "app").values()
    ]
    compared = levels_of({"side": SIDES}, groups)
    contrasts = [each for of in compared for each in of.contrasts if each.statistic == "median"]
    if len(medians) < FEWEST or not contrasts:
        raise BadInput("too few null trials were measured: no packets, or no lab")
    (contrast,) = contrasts
    return Stability(
        kind=kind,
        trials=len(medians),
        sent=sum(group.sent for group in groups),
        lost=sum(group.lost for group in groups),
        median_us=float(np.median(medians)),
        spread=(max(medians) - min(medians)) / float(np.median(medians)),
        difference_us=contrast.effect.value,
        interval_us=contrast.effect.interval,
        doubts=_doubts(groups),
    )


def print_stable(found: Stability, console: Console) -> None:
    """Print the figures, and the verdict."""
    console.print("\n".join(_lines(found)), markup=False, highlight=False)


def as_json(found: Stability) -> JsonObject:
    """Return the figures as JSON values."""
    return {**asdict(found), "faults": found.faults, "fit": not found.faults}


def _doubts(groups: Sequence[Group]) -> tuple[str, ...]:
    found = doubts_of(groups)
    return tuple(each.text for each in found if each.undermines and each.kind in UNDERMINING)


def _faults(found: Stability) -> Iterator[str]:
    low, high = found.interval_us
    if found.lost:
        yield f"{found.lost} of {found.sent} packets were lost at a low load"
    if found.spread > SPREAD:
        yield f"the trials' medians differ by {found.spread:.0%} of their median"
    if low > 0 or high < 0:
        said = words.with_interval(found.difference_us, found.interval_us, "µs")
        yield f"two sides that are the same differ by {said}"
    yield from found.doubts


def _lines(found: Stability) -> Iterator[str]:
    low, high = found.interval_us
    yield f"{found.trials} null trials, kind {found.kind}, median {words.delay(found.median_us)}"
    yield f"spread of their medians  {found.spread:.1%} (at most {SPREAD:.0%})"
    yield f"lost                     {found.lost} of {found.sent} packets (none)"
    said = words.with_interval(found.difference_us, found.interval_us, "µs")
    yield f"A/A: side B − side A     {said} (0 is inside)"
    yield f"smallest difference that so many trials show: about {words.delay(high - low)}"
    faults = found.faults
    verdict = f"not fit to measure: {'; '.join(faults)}" if faults else "fit to measure"
    yield f"this machine is {verdict}"


def _study(kind: str, repeats: int) -> StudyFile:
    data = {
        "study": "stable",
        "lab": {
            "lab": "stable",
            "nodes": {"one": {"kind": kind}, "other": {"kind": kind}},
            "links": [{"between": ["one", "other"], "name": "line"}],
        },
        "factors": {"side": {side: {} for side in SIDES}},
        "probe": {"from": "one", "to": "other", "count": PACKETS, "interval": EVERY},
        "repeat": repeats,
    }
    return study_from(Document("doctor --stable", data, {}))
