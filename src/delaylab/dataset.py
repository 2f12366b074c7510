"""The tables on disk, and their schema: where doing and meaning meet.

One directory per study::

    study.json                       the resolved study, seed, versions, machine
    trials/ID/trial.json             one finished trial: factors, status, warnings, points
    trials/ID/{stamps,probes,hosts}.parquet
    trials.parquet                   all trials in one table, derived from the trial.json files

A trial's directory appears whole, by one rename, or not at all; it is never changed afterwards.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import polars as pl
from pydantic import BaseModel, ConfigDict, ValidationError

from delaylab.errors import BadInput, DelaylabError
from delaylab.linkrecord import Engine
from delaylab.raterecord import Flow, HeldRate, Search

FORMAT = 1

STAMPS = {
    "probe": pl.UInt32,
    "seq": pl.UInt32,
    "leg": pl.Categorical,
    "point": pl.Categorical,
    "time_ns": pl.Int64,
    "clock": pl.Categorical,
}
PROBES = {
    "probe": pl.UInt32,
    "seq": pl.UInt32,
    "phase": pl.String,
    "intended_ns": pl.Int64,
    "sent_ns": pl.Int64,
    "slip_ns": pl.Int64,
    "outcome": pl.String,
    "duplicates": pl.UInt16,
    "reordered": pl.Boolean,
}
HOSTS = {"time_ns": pl.Int64, "place": pl.String, "metric": pl.String, "value": pl.Float64}
TABLES: dict[str, dict[str, Any]] = {"stamps": STAMPS, "probes": PROBES, "hosts": HOSTS}


Model = TypeVar("Model", bound="_Record")


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Machine(_Record):
    """The machine that ran the study; memory in bytes."""

    hostname: str
    kernel: str
    cpu: str
    cores: int
    memory_bytes: int
    python: str
    delaylab: str
    agent: str
    clock: str


class StudyRecord(_Record):
    """`study.json`: what was asked, of which machine."""

    format: int
    study: str
    title: str
    seed: int
    scale: str
    spec: dict[str, object]
    factors: dict[str, list[str]]
    claims: list[str]
    planned: list[str]
    machine: Machine
    created: str


class Endpoint(_Record):
    """The node at one end of the probe, its host and its technology."""

    node: str
    host: str
    kind: str


class TrialWarning(_Record):
    """A doubt about the data, and what to do about it."""

    kind: str
    message: str
    remedy: str


class Load(_Record):
    """Competing work: what was asked and what it achieved, of frames also by flow.

    `rate` is how the rate of frames was found, if it was by search.
    """

    load: str
    on: str
    to: str | None = None
    asked: object = None
    achieved: dict[str, float] = {}
    flows: list[Flow] = []
    rate: HeldRate | None = None


class Tap(_Record):
    """What a capture point saw and what it had to drop, and what captured: programs at the
    interface's hooks, or a packet ring (as all did before there were two)."""

    point: str
    packets: int
    dropped: int
    by: Literal["tcx", "ring"] = "ring"


class ClockReading(_Record):
    """Two clocks read at one moment: the reference, the other one, the reference again; in ns."""

    clock: str
    reference: str
    before_ns: int
    other_ns: int
    after_ns: int


class Way(_Record):
    """The recorded points of each leg, in the order in which a packet passes them."""

    request: list[str] = []
    reply: list[str] = []


class Hop(_Record):
    """A link on the way from node `start` to node `end`, and the points before and behind it."""

    link: str
    start: str
    end: str
    near: str = "sender.vif"
    far: str = "responder.vif"


class TrialRecord(_Record):
    """`trial.json`: one lab, one load, one probe run."""

    id: str
    index: int
    factors: dict[str, str]
    repeat: int
    status: Literal["ok", "failed", "skipped"]
    reason: str | None = None
    started: str | None = None
    ended: str | None = None
    sender: Endpoint | None = None
    responder: Endpoint | None = None
    protocol: str | None = None
    size_bytes: int | None = None
    interval_ns: int | None = None
    rate_search: Search | None = None
    path: Way = Way()
    absent: dict[str, str] = {}
    clock: str | None = None
    warnings: list[TrialWarning] = []
    loads: list[Load] = []
    taps: list[Tap] = []
    responder_icmp: dict[str, int] = {}
    clock_readings: list[ClockReading] = []
    link: str | None = None
    hops: list[Hop] = []
    links: list[Engine] = []

    @property
    def crossed(self) -> list[Hop]:
        """The links on a request's way. Before there were routers a trial had one, `link`."""
        if self.hops or not (self.link and self.sender and self.responder):
            return self.hops
        return [Hop(link=self.link, start=self.sender.node, end=self.responder.node)]


@dataclass(frozen=True, slots=True)
class Study:
    """A study read from disk. Tables are read when asked for, one trial at a time."""

    directory: Path
    record: StudyRecord
    trials: list[TrialRecord]

    def stamps(self, trial: str) -> pl.DataFrame:
        """Return the trial's stamps: one row per packet, leg and point."""
        return _read_table(self.directory, trial, "stamps")

    def probes(self, trial: str) -> pl.DataFrame:
        """Return the trial's schedule: one row per scheduled packet, also the lost ones."""
        return _read_table(self.directory, trial, "probes")

    def hosts(self, trial: str) -> pl.DataFrame:
        """Return the state of the trial's hosts, long form, 10 Hz."""
        return _read_table(self.directory, trial, "hosts")


def write_study(directory: Path, study: dict[str, Any]) -> None:
    """Write `study.json`, checked, in one step. Raises `DelaylabError` if the disk is full."""
    _check(StudyRecord, study, "study.json")
    try:
        (directory / "trials").mkdir(parents=True, exist_ok=True)
        temporary = directory / ".study.json"
        _write_json(temporary, study)
        temporary.replace(directory / "study.json")
        _sync(directory)
    except OSError as error:
        raise _not_written(directory / "study.json", error, "nothing") from error


def write_trial(
    directory: Path,
    trial: dict[str, Any],
    stamps: pl.DataFrame,
    probes: pl.DataFrame,
    hosts: pl.DataFrame,
) -> None:
    """Add one trial: its directory appears whole or not at all.

    Raises `DelaylabError` if the trial is already there or cannot be written; the trials that
    were finished before stay as they are.
    """
    record = _check(TrialRecord, trial, "trial.json")
    if "/" in record.id or record.id.startswith("."):
        raise BadInput("a trial's id is the name of its directory", record.id, "rename the level")
    tables = {
        name: _typed(name, table)
        for name, table in (("stamps", stamps), ("probes", probes), ("hosts", hosts))
    }
    place = directory / "trials" / record.id
    if place.exists():
        raise DelaylabError("the trial is already there, and is never changed", str(place))
    partial = directory / "trials" / f".partial-{record.id}"
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        for name, table in tables.items():
            _write_table(partial / f"{name}.parquet", table)
        _write_json(partial / "trial.json", trial)
        _sync(partial)
        partial.rename(place)
        _sync(place.parent)
    except (OSError, pl.exceptions.PolarsError) as error:
        shutil.rmtree(partial, ignore_errors=True)
        kept = f"the {len(finished(directory))} trials finished before"
        raise _not_written(place, error, kept) from error


def write_trials_table(directory: Path) -> None:
    """Write `trials.parquet`, one row per finished trial, from the `trial.json` files."""
    study = read_study(directory)
    rows = [
        {"id": t.id, "index": t.index, **t.factors, "repeat": t.repeat, "status": t.status}
        | {"reason": t.reason, "started": t.started, "ended": t.ended, "warnings": len(t.warnings)}
        for t in study.trials
    ]
    temporary = directory / ".trials.parquet"
    try:
        pl.DataFrame(rows, infer_schema_length=None).write_parquet(temporary)
        temporary.replace(directory / "trials.parquet")
    except (OSError, pl.exceptions.PolarsError) as error:
        raise _not_written(directory / "trials.parquet", error, "all trials") from error


def finished(directory: Path) -> set[str]:
    """Return the ids of the trials on disk, whatever their status."""
    return {place.parent.name for place in (directory / "trials").glob("[!.]*/trial.json")}


def read_study(directory: Path) -> Study:
    """Read a study's records; tables stay on disk until they are asked for.

    Raises `BadInput`, with one line, if `directory` is not a dataset or is damaged.
    """
    place = directory / "study.json"
    if not place.is_file():
        raise BadInput(
            "not a dataset: it has no study.json", str(directory), "give the directory of a run"
        )
    raw = _read_json(place)
    if raw.get("format") != FORMAT:
        raise BadInput(
            f"format {raw.get('format')!r}, but this version reads format {FORMAT}",
            str(place),
            "use the version of delaylab that wrote it",
        )
    record = _check(StudyRecord, raw, str(place))
    trials = [_read_trial(directory, name) for name in finished(directory)]
    return Study(directory, record, sorted(trials, key=lambda trial: (trial.index, trial.id)))


def _read_trial(directory: Path, name: str) -> TrialRecord:
    place = directory / "trials" / name / "trial.json"
    return _check(TrialRecord, _read_json(place), str(place))


def _read_table(directory: Path, trial: str, name: str) -> pl.DataFrame:
    place = directory / "trials" / trial / f"{name}.parquet"
    if not place.is_file():
        raise BadInput("the file is missing", str(place), "take the trial out and resume the run")
    try:
        return pl.read_parquet(place, columns=list(TABLES[name]))
    except (OSError, pl.exceptions.PolarsError) as error:
        raise BadInput(f"damaged: {_first_line(error)}", str(place)) from error


def _read_json(place: Path) -> dict[str, Any]:
    try:
        raw = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"damaged: {_first_line(error)}", str(place)) from error
    if not isinstance(raw, dict):
        raise BadInput("damaged: not a JSON object", str(place))
    return raw


def _check(model: type[Model], raw: dict[str, Any], where: str) -> Model:
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise BadInput(f"damaged: {field}: {first['msg']}", where) from error


def _typed(name: str, table: pl.DataFrame) -> pl.DataFrame:
    """Return the table with the columns of its schema, in their order."""
    try:
        return table.select(pl.col(column).cast(kind) for column, kind in TABLES[name].items())
    except pl.exceptions.PolarsError as error:
        raise BadInput(f"not a table of {name}: {_first_line(error)}", f"{name}.parquet") from error


def _write_table(place: Path, table: pl.DataFrame) -> None:
    table.write_parquet(place, compression="zstd", compression_level=1)
    _sync(place)


def _write_json(place: Path, value: dict[str, Any]) -> None:
    place.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    _sync(place)


def _sync(place: Path) -> None:
    handle = os.open(place, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _not_written(place: Path, error: Exception, kept: str) -> DelaylabError:
    return DelaylabError(
        f"cannot be written: {_first_line(error)}; kept: {kept}",
        str(place),
        "make room, then resume the run",
    )


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
