"""A study: factors x levels -> trials; in a seeded random order, resumed, recorded."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from delaylab import dataset, loads, trial
from delaylab.errors import BadInput, DelaylabError
from delaylab.machine import describe
from delaylab.spec import Combination, LoadSpec, StudyFile, combinations

LAB_S, LOAD_S, PHASE_S = 0.5, 2.5, 1.2
"""What a trial costs beside its packets: lab and instruments, a load's start, waiting for the last
replies of one phase. For the estimate before a study only; a running one uses its own times."""


@dataclass(frozen=True)
class Planned:
    """One trial to run."""

    id: str
    index: int
    repeat: int
    combination: Combination

    @property
    def expected_s(self) -> float:
        """A guess at how long it takes."""
        probe = self.combination.probe
        rest = (probe.at_rest_interval or probe.interval).seconds * probe.at_rest * 2
        phases = 3 if probe.at_rest else 1
        load = LOAD_S if self.combination.loads else 0
        return LAB_S + load + rest + probe.count * probe.interval.seconds + phases * PHASE_S


@dataclass(frozen=True)
class Outcome:
    """How one trial ended."""

    planned: Planned
    status: str
    reason: str | None


def plan_trials(study: StudyFile, scale: str, only: dict[str, set[str]]) -> list[Planned]:
    """All trials in the order of running: blocks of all combinations, shuffled by the seed."""
    _check_only(study, only)
    chosen = [
        combination
        for combination in combinations(study, scale)
        if all(combination.levels[factor] in levels for factor, levels in only.items())
    ]
    order = random.Random(study.spec.seed)
    planned: list[Planned] = []
    for repeat in range(1, study.spec.repeat + 1):
        block = list(chosen)
        order.shuffle(block)
        for combination in block:
            levels = [f"{factor}={level}" for factor, level in combination.levels.items()]
            name = ",".join([*levels, f"repeat={repeat}"])
            planned.append(Planned(name, len(planned), repeat, combination))
    return planned


def _check_only(study: StudyFile, only: dict[str, set[str]]) -> None:
    for factor, levels in only.items():
        known = study.spec.factors.get(factor)
        if known is None:
            names = ", ".join(study.spec.factors)
            raise BadInput(f"study {study.spec.study!r} has no factor {factor!r}", fix=names)
        for level in sorted(levels - set(known)):
            raise BadInput(f"factor {factor!r} has no level {level!r}", fix=", ".join(known))


def begin(study: StudyFile, scale: str, planned: list[Planned], out: Path) -> None:
    """Create the dataset's directory; BadInput if it holds something already."""
    spec = study.spec
    loads.require_tools(all_loads(planned))
    if out.exists() and any(out.iterdir()):
        raise BadInput(f"{out} is not empty", fix="take another --out, or --resume it")
    dataset.write_study(
        out,
        {
            "format": dataset.FORMAT,
            "study": spec.study,
            "title": spec.title,
            "seed": spec.seed,
            "scale": scale,
            "spec": resolved(study),
            "factors": {factor: list(levels) for factor, levels in spec.factors.items()},
            "claims": spec.claims,
            "planned": [p.id for p in planned],
            "machine": describe(),
            "created": _now(),
        },
    )


def resolved(study: StudyFile) -> dict[str, Any]:
    """The study as one file, its lab inline: what `--resume` reads back."""
    return {**study.document.data, "lab": study.lab_data}


def all_loads(planned: Iterable[Planned]) -> list[LoadSpec]:
    """The loads of all trials."""
    return [load for p in planned for load in p.combination.loads]


def run(
    out: Path,
    planned: list[Planned],
    on_end: Callable[[Outcome], None],
    on_start: Callable[[Planned], None],
    *,
    pcap: bool = False,
) -> list[Outcome]:
    """Run what is not finished yet. A trial that fails is recorded as failed, and the rest go on.

    `pcap`: the packets themselves, too, below `pcap/`.

    A dataset that cannot be written ends the study: its finished trials are kept.
    """
    done = dataset.finished(out)
    outcomes = []
    for item in planned:
        if item.id in done:
            continue
        on_start(item)
        outcome = _run_one(out, item, out / "pcap" / item.id if pcap else None)
        on_end(outcome)
        outcomes.append(outcome)
    dataset.write_trials_table(out)
    return outcomes


def _run_one(out: Path, item: Planned, pcap: Path | None) -> Outcome:
    started = _now()
    common = {
        "id": item.id,
        "index": item.index,
        "factors": item.combination.levels,
        "repeat": item.repeat,
        "started": started,
    }
    try:
        recording = trial.run(item.combination, item.index + 1, pcap)
    except DelaylabError as error:
        record = {**common, "status": "failed", "reason": str(error), "ended": _now()}
        empty = [pl.DataFrame(schema=dict(schema)) for schema in dataset.TABLES.values()]
        dataset.write_trial(out, record, *empty)
        return Outcome(item, "failed", str(error))
    record = {**common, **recording.record, "status": "ok", "reason": None, "ended": _now()}
    dataset.write_trial(out, record, recording.stamps, recording.probes, recording.hosts)
    return Outcome(item, "ok", None)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
