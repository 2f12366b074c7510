"""Reader and writer of datasets; the types of their contents are in `records`.

One directory per study::

    study.json                       the resolved study, seed, versions, machine
    trials/ID/trial.json             one finished trial: factors, status, warnings, points
    trials/ID/hosts.parquet
    trials/ID/{stamps,probes}.parquet only if the trial has a probe
    trials/ID/answers.parquet        only if its packets are requests to a service
    trials/ID/progress.parquet       only if the trial has work that showed progress
    trials/ID/{changes,wrong,fates}.parquet only if the lab has routing daemons
    trials/ID/comparisons.parquet    only if its machines have several clocks
    trials/ID/windows.parquet        only if its probe has `causes`; also cpus and tasks
    trials.parquet                   all trials in one table, derived from the trial.json files

A trial's directory appears whole, by one rename, or not at all; it is never changed afterwards.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import io
import json
import os
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import polars as pl
from pydantic import TypeAdapter, ValidationError

from delaylab.api.errors import BadInput, DelaylabError
from delaylab.api.files import deferred, own_folder, remove_tree, write_new
from delaylab.api.records import MOST_TRIALS, Record, TrialId
from delaylab_study.dataset.blocks import numbered
from delaylab_study.dataset.records.reading import parse_json, read_json
from delaylab_study.dataset.records.study import StudyRecord
from delaylab_study.dataset.records.table_checks import check_table, read_table
from delaylab_study.dataset.records.tables import OF_CPUS, OF_PROBE, OPTIONAL, TABLES
from delaylab_study.dataset.records.trial import TableFile, TrialRecord
from delaylab_study.dataset.records.trial_checks import check_trial
from delaylab_study.dataset.roles import with_roles

FORMAT = 2
"""The format that is written. Format 1, with one machine and one way, is read, too."""
FACTOR = "factor."
"""The prefix of a column with the levels of a factor, since a factor may be called `index`."""
RELEASED_WITHIN_S = 2.0
"""The time for which a killed run may still hold its dataset: a program that it was starting has
the lock until the program's first line runs."""
TRIAL_ID = TypeAdapter[str](TrialId)

Model = TypeVar("Model", bound=Record)


@dataclass(frozen=True, slots=True)
class Study:
    """A study read from disk. Each table is read from its file on every call that returns it.

    `damaged` has the damage of trials whose record cannot be read, which `trials` lacks, and if
    `intact.read_intact` looked for it that of trials with a damaged table.
    """

    directory: Path
    record: StudyRecord
    trials: list[TrialRecord]
    damaged: tuple[BadInput, ...] = ()

    def stamps(self, trial: str) -> pl.DataFrame:
        """Return the trial's stamps as recorded: one row per packet, leg and point.

        The points of routers are named by location (`roles.roles`).
        """
        return self._table(trial, "stamps")

    def probes(self, trial: str) -> pl.DataFrame:
        """Return the trial's schedule: one row per scheduled packet, lost ones included."""
        return self._table(trial, "probes")

    def answers(self, trial: str) -> pl.DataFrame:
        """Return what is known of a service's answers; no rows unless the packets are requests."""
        return self._optional(trial, "answers")

    def hosts(self, trial: str) -> pl.DataFrame:
        """Return the state of the trial's hosts in long form, sampled at 10 Hz."""
        return self._table(trial, "hosts")

    def progress(self, trial: str) -> pl.DataFrame:
        """Return the progress of the trial's work; no rows if there is none."""
        return self._optional(trial, "progress")

    def changes(self, trial: str) -> pl.DataFrame:
        """Return the changes of the tables, links and adjacencies of a trial's routers, by time."""
        return self._optional(trial, "changes")

    def wrong(self, trial: str) -> pl.DataFrame:
        """Return how many routes of each router were wrong in a trial, by time."""
        return self._optional(trial, "wrong")

    def fates(self, trial: str) -> pl.DataFrame:
        """Return the black holes and loops of a trial, by the tables of its routers."""
        return self._optional(trial, "fates")

    def comparisons(self, trial: str) -> pl.DataFrame:
        """Return the clock comparisons of a trial's machines; no rows if there are none."""
        return self._optional(trial, "comparisons")

    def of_cpus(self, trial: str) -> list[pl.DataFrame]:
        """Return windows around packets, with CPUs, tasks and retransmissions, and drops."""
        return [self._optional(trial, name) for name in OF_CPUS]

    def passages(self, trial: str) -> pl.DataFrame:
        """Return how packets of a trial passed links; no rows if nobody asked for causes."""
        return self._optional(trial, "passages")

    def _optional(self, trial: str, name: str) -> pl.DataFrame:
        """Return a table; one without rows if the trial has none."""
        if not self.table_file(trial, name).exists():
            return pl.DataFrame(schema=dict(TABLES[name]))
        return self._table(trial, name)

    def table_file(self, trial: str, name: str) -> Path:
        """Return the file of one of the trial's tables."""
        return self.directory / "trials" / trial / f"{name}.parquet"

    def _table(self, trial: str, name: str) -> pl.DataFrame:
        place = self.table_file(trial, name)
        if not place.exists():
            fix = "take the trial out and resume the run"
            raise BadInput("the file is missing", str(place), fix)
        return read_table(place, name)


def study_record(raw: Mapping[str, object]) -> StudyRecord:
    """Return a study's record of these values; raise `BadInput` if it is invalid."""
    return _check(StudyRecord, raw, "study.json")


def trial_record(raw: Mapping[str, object]) -> TrialRecord:
    """Return a trial's record of these values; raise `BadInput` if it is invalid."""
    given = str(raw.get("id"))
    if not TRIAL_ID.validator.isinstance_python(given):
        raise BadInput("a trial's id is the name of its directory", given, "rename the level")
    return _checked_trial(raw, "trial.json")


def write_study(directory: Path, study: StudyRecord) -> None:
    """Write a study's record to `study.json` in one step.

    Raise `DelaylabError` if it cannot be written, for example because the disk is full.
    """
    try:
        own_folder(directory / "trials")
        _write_json(directory / "study.json", study)
        _sync(directory)
    except OSError as error:
        raise _not_written(directory / "study.json", error, "nothing") from error


def write_trial(directory: Path, trial: TrialRecord, given: Mapping[str, pl.DataFrame]) -> None:
    """Add one trial: its directory appears whole or not at all. Ctrl-C waits until it is there.

    `given` are its tables by name; one of `OPTIONAL` is written only if it has rows, and those
    `OF_PROBE` are left out for a finished trial without a probe. Raise `BadInput` if a table is
    invalid, `DelaylabError` if the trial is already there or cannot be written. Trials that were
    finished before stay as they are.
    """
    tables = checked(trial, given)
    place = directory / "trials" / trial.id
    if place.exists():
        raise DelaylabError("the trial is already there, and is never changed", str(place))
    with deferred():
        _write_whole(place, trial, tables)


def checked(trial: TrialRecord, given: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the tables that will be written for a trial, by name.

    `given` are those of `write_trial`. Raise `BadInput` if a reader would refuse the record or a
    table.
    """
    where = f"the record of trial {trial.id}"
    _checked_trial(parse_json(_json(trial), where), where)
    absent = OF_PROBE if trial.status == "ok" and not trial.probed else frozenset[str]()
    tables = {
        name: _typed(name, given[name])
        for name in TABLES
        if name not in absent and (name not in OPTIONAL or (name in given and len(given[name])))
    }
    for name, table in tables.items():
        try:
            check_table(table, name)
        except ValueError as error:
            raise BadInput(str(error), f"table {name!r}") from None
    return tables


def _write_whole(place: Path, trial: TrialRecord, tables: Mapping[str, pl.DataFrame]) -> None:
    partial = place.with_name(f".partial-{trial.id}")
    try:
        own_folder(place.parent)
        with suppress(OSError):
            remove_tree(partial)
        partial.mkdir(parents=True)
        files = {
            name: _write_table(partial / f"{name}.parquet", table) for name, table in tables.items()
        }
        _write_json(partial / "trial.json", trial.model_copy(update={"tables": files}))
        _sync(partial)
        partial.rename(place)
        _sync(place.parent)
    except (OSError, pl.exceptions.PolarsError) as error:
        with suppress(OSError):
            remove_tree(partial)
        kept = f"the {len(finished(place.parent.parent))} trials finished before"
        raise _not_written(place, error, kept) from error


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Keep a dataset to oneself for a block: two runs at once would disturb each other's trials.

    Raise DelaylabError if another process has it, and still has it after `RELEASED_WITHIN_S`. The
    kernel releases the lock when a process ends.
    """
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    end_s = time.monotonic() + RELEASED_WITHIN_S
    try:
        while not _took(handle):
            if time.monotonic() > end_s:
                what, fix = (
                    "another run measures into this dataset",
                    "wait until it ends, or stop it",
                )
                raise DelaylabError(what, str(directory), fix)
            time.sleep(RELEASED_WITHIN_S / 50)  # flock(2) has no timeout
        yield
    finally:
        os.close(handle)


def _took(handle: int) -> bool:
    """Return True if the lock of a directory was free, and is held now."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def resume_command(directory: Path, paper: str | None = None, *, pcap: bool = False) -> str:
    """Return the command that continues an interrupted study, with the options that it needs."""
    options = (f" --paper {shlex.quote(paper)}" if paper else "") + (" --pcap" if pcap else "")
    return f"delaylab run --resume {shlex.quote(str(directory))}{options}"


def write_trials_table(directory: Path, doubts: Mapping[str, Sequence[str]] | None = None) -> None:
    """Derive `trials.parquet`, one row per finished trial, from the `trial.json` files.

    `doubts` are the kinds of doubts about each trial, by its id; they are null before an analysis
    has found them.
    """
    study = read_study(directory)
    rows = [
        {"id": t.id, "index": t.index}
        | {f"{FACTOR}{name}": level for name, level in t.factors.items()}
        | {"repeat": t.repeat, "status": t.status, "reason": t.reason}
        | {"started": t.started, "ended": t.ended}
        | {"doubts": None if doubts is None else ", ".join(doubts.get(t.id, ()))}
        for t in study.trials
    ]
    table = io.BytesIO()
    try:
        pl.DataFrame(rows, infer_schema_length=None).write_parquet(table)
        write_new(directory / "trials.parquet", table.getvalue())
    except (OSError, pl.exceptions.PolarsError) as error:
        raise _not_written(directory / "trials.parquet", error, "all trials") from error


def finished(directory: Path) -> set[str]:
    """Return the ids of the trials on disk, whatever their status."""
    return {place.parent.name for place in (directory / "trials").glob("[!.]*/trial.json")}


def read_study(directory: Path) -> Study:
    """Read a study's records; each table stays on disk until a method of `Study` reads it.

    A trial whose record is damaged is set aside in `damaged`. Raise `BadInput`, with a message of
    one line, if `directory` is not a dataset, or no record of a trial can be read.
    """
    place = directory / "study.json"
    if not place.exists():
        raise BadInput(
            "not a dataset: it has no study.json", str(directory), "give the directory of a run"
        )
    raw = read_json(place)
    if raw.get("format") not in range(1, FORMAT + 1):
        raise BadInput(
            f"format {raw.get('format')!r}, but this version reads formats 1 to {FORMAT}",
            str(place),
            "use the version of delaylab that wrote it",
        )
    record = _check(StudyRecord, raw, str(place))
    names = finished(directory)
    if len(names) > MOST_TRIALS:
        raise BadInput(f"{len(names)} trials; at most {MOST_TRIALS}", str(directory))
    trials: list[TrialRecord] = []
    damaged: list[BadInput] = []
    for name in sorted(names):
        try:
            trials.append(_read_trial(directory, name, record))
        except BadInput as error:
            damaged.append(error)
    if damaged and not trials:
        others = f"; other damaged trials: {len(damaged) - 1}" if damaged[1:] else ""
        raise BadInput(damaged[0].what + others, damaged[0].where)
    trials.sort(key=lambda trial: (trial.index, trial.id))
    numbered(trials)
    return Study(directory, record, trials, tuple(damaged))


def _read_trial(directory: Path, name: str, study: StudyRecord) -> TrialRecord:
    place = directory / "trials" / name / "trial.json"
    trial = _checked_trial(read_json(place), str(place))
    if trial.id != name:
        raise BadInput(f"damaged: its id is {trial.id!r}, not its directory's name", str(place))
    if trial.factors.keys() != study.factors.keys():
        given, known = (", ".join(each) or "none" for each in (trial.factors, study.factors))
        raise BadInput(f"damaged: its factors are {given}; the study's are {known}", str(place))
    return with_roles(trial)


def _checked_trial(raw: Mapping[str, object], where: str) -> TrialRecord:
    record = _check(TrialRecord, raw, where)
    try:
        check_trial(record)
    except ValueError as error:
        raise BadInput(f"damaged: {error}", where) from None
    return record


def _check(model: type[Model], raw: Mapping[str, object], where: str) -> Model:
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise BadInput(f"damaged: {field}: {first['msg']}", where) from error


def _typed(name: str, table: pl.DataFrame) -> pl.DataFrame:
    """Return the table with exactly the columns and types of its schema, in the schema's order.

    Raise `BadInput` if a column is missing or cannot be converted.
    """
    try:
        return table.select(pl.col(column).cast(kind) for column, kind in TABLES[name].items())
    except pl.exceptions.PolarsError as error:
        raise BadInput(f"not a table of {name}: {_first_line(error)}", f"{name}.parquet") from error


def _write_table(place: Path, table: pl.DataFrame) -> TableFile:
    table.write_parquet(place, compression="zstd", compression_level=1)
    _sync(place)
    with place.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return TableFile(bytes=place.stat().st_size, sha256=digest)


def _write_json(place: Path, record: Record) -> None:
    write_new(place, _json(record).encode())


def _json(record: Record) -> str:
    return json.dumps(record.model_dump(mode="json", by_alias=True), indent=1) + "\n"


def _sync(place: Path) -> None:
    handle = os.open(place, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _not_written(place: Path, error: Exception, kept: str) -> DelaylabError:
    full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    why = (error.strerror if isinstance(error, OSError) else None) or _first_line(error)
    fix = "make room, then resume the run" if full else "fix the cause, then resume the run"
    return DelaylabError(f"cannot be written: {why}; kept: {kept}", str(place), fix)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
