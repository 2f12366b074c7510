"""Jobs and outcomes as they travel between a coordinator and the machines of a campaign."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from delaylab.api.errors import BadInput, DelaylabError
from delaylab.api.records import MachineRecord
from delaylab_study.dataset import store
from delaylab_study.dataset.records.rates import HeldRate
from delaylab_study.dataset.records.reading import parse_json
from delaylab_study.dataset.records.study import StudyRecord
from delaylab_study.dataset.records.tables import TABLES
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.study.block_rates import Key
from delaylab_study.study.job import TrialOutcome
from delaylab_study.study.order import Planned


@dataclass(frozen=True, slots=True)
class TrialJob:
    """A trial that a machine is to run. `study` is the record of its study, as in study.json.

    `campaign` names the run that asks: a machine takes down the lab of another one first. `known`
    are the rates that trials of the block found on this machine. With `pcap` the packets are kept.
    """

    campaign: str
    study: bytes
    trial: str
    known: Mapping[Key, HeldRate]
    pcap: bool = False


@dataclass(frozen=True, slots=True)
class MachineQuestion:
    """The question what a machine is, and which trials of a study it cannot run."""

    study: bytes


@dataclass(frozen=True, slots=True)
class Parcel:
    """The outcome of a trial: its record as JSON, its tables as Arrow files, and its captures."""

    record: bytes
    tables: Mapping[str, bytes]
    captures: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Declared:
    """The facts that a machine declares: its record as JSON, and the trials that it cannot run.

    `differs` says how it differs from the machine that the study needs, "" if it does not. `unfit`
    has the reason for each trial that it cannot run, by the trial's id.
    """

    machine: bytes
    differs: str
    unfit: Mapping[str, str]

    def record(self) -> MachineRecord:
        """Return the machine's record; raise BadInput if it is invalid."""
        try:
            return MachineRecord.model_validate_json(self.machine)
        except ValueError as error:
            raise BadInput(f"a machine's record is damaged: {error}") from None


def study_of(study: bytes) -> StudyRecord:
    """Return the record of a study that arrived; raise BadInput if it is invalid."""
    return store.study_record(parse_json(study.decode(), "the study of a campaign"))


def packed(outcome: TrialOutcome, captures: Path | None) -> Parcel:
    """Return an outcome as it travels. `captures` is the folder with its packets, if they are kept.

    Raise DelaylabError if the packets cannot be read.
    """
    return Parcel(
        record=outcome.record.model_dump_json(by_alias=True).encode(),
        tables={name: _written(table) for name, table in outcome.tables.items()},
        captures=_read(captures) if captures is not None and captures.exists() else {},
    )


def opened(parcel: Parcel, planned: Planned, captures: Path | None) -> TrialOutcome:
    """Return an outcome that arrived, and write its packets below `captures`.

    Raise BadInput if it is not that of the planned trial, or is damaged.
    """
    record = opened_record(parcel, planned.id)
    where = f"the outcome of trial {planned.id}"
    tables = {name: _table(name, data, where) for name, data in parcel.tables.items()}
    if captures is not None:
        _write(captures / planned.id, parcel.captures)
    # A machine's own plan may have the lab on that machine, which is the same trial.
    same = record.model_copy(update={"identity": planned.identity})
    return TrialOutcome(planned, same, tables)


def opened_record(parcel: Parcel, trial: str) -> TrialRecord:
    """Return the record of a trial's outcome that arrived; raise BadInput if it is of another."""
    where = f"the outcome of trial {trial}"
    record = store.trial_record(parse_json(parcel.record.decode(), where))
    if record.id != trial:
        raise BadInput(f"it is of another trial, {record.id}", where)
    return record


def _written(table: pl.DataFrame) -> bytes:
    file = io.BytesIO()
    table.write_ipc(file, compression="zstd")
    return file.getvalue()


def _table(name: str, data: bytes, where: str) -> pl.DataFrame:
    if name not in TABLES:
        raise BadInput(f"it has an unknown table {name!r}", where)
    try:
        return pl.read_ipc(io.BytesIO(data), use_pyarrow=False)
    except pl.exceptions.PolarsError as error:
        raise BadInput(f"its table {name!r} is damaged: {error}", where) from None


def _read(folder: Path) -> dict[str, bytes]:
    try:
        return {each.name: each.read_bytes() for each in folder.iterdir() if each.is_file()}
    except OSError as error:
        raise DelaylabError(f"packets cannot be read: {error.strerror}", str(folder)) from None


def _write(folder: Path, captures: Mapping[str, bytes]) -> None:
    if not captures:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in captures.items():
            # The name is that of a file, whatever another machine says.
            (folder / Path(name).name).write_bytes(data)
    except OSError as error:
        what = f"packets cannot be written: {error.strerror}"
        raise DelaylabError(what, str(folder)) from None
