"""Damaged tables, found before they are read: the library that reads them may end the process.

A file that is not what its trial's record says is damaged. Records of earlier versions do not say
it; their tables are first read by another process (`delaylab.dataset.try_tables`).
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from delaylab.dataset.records.table_checks import MOST_BYTES
from delaylab.dataset.records.tables import OPTIONAL, TABLES
from delaylab.dataset.records.trial import TableFile, TrialRecord
from delaylab.dataset.store import Study, read_study
from delaylab.errors import BadInput
from delaylab.io.files import check_file
from delaylab.io.programs import started

AT_ONCE = 1000
"""The most files that one process reads: their names must fit into its arguments."""
FIX = "copy the dataset again, or take the trial out and resume the run"


def read_intact(directory: Path) -> Study:
    """Read a study's records; trials with a damaged table have failed, and are in `damaged`.

    Raise BadInput as `read_study` does.
    """
    study = read_study(directory)
    damaged: dict[str, BadInput] = {}
    untold: list[tuple[TrialRecord, Path]] = []
    for trial in study.trials:
        if trial.status == "ok":
            for place in _tables(study, trial):
                if place.stem not in trial.tables:
                    untold.append((trial, place))
                elif (found := _compared(place, trial.tables[place.stem])) is not None:
                    damaged.setdefault(trial.id, found)
    tried = _tried([place for trial, place in untold if trial.id not in damaged])
    for trial, place in untold:
        if place in tried:
            damaged.setdefault(trial.id, BadInput(tried[place], str(place), FIX))
    trials = [_failed(trial, damaged.get(trial.id)) for trial in study.trials]
    return replace(study, trials=trials, damaged=tuple(damaged.values()))


def check_intact(study: Study) -> None:
    """Raise BadInput with all damaged tables, if there are any."""
    if study.damaged:
        first, *more = study.damaged
        first.more = tuple(more)
        raise first


def _failed(trial: TrialRecord, damage: BadInput | None) -> TrialRecord:
    if damage is None:
        return trial
    reason = f"{Path(damage.where).name}: {damage.what}"
    return trial.model_copy(update={"status": "failed", "reason": reason})


def _tables(study: Study, trial: TrialRecord) -> Iterator[Path]:
    """Yield the files of a trial's tables that are there or must be."""
    wanted = {name for name in TABLES if name not in OPTIONAL} if trial.probed else {"hosts"}
    for name in TABLES:
        place = study.table_file(trial.id, name)
        if name in trial.tables or name in wanted or place.exists():
            yield place


def _compared(place: Path, wanted: TableFile) -> BadInput | None:
    """Return the damage of a file that is missing, or is not as it was written."""
    if not place.exists():
        return BadInput("the file is missing", str(place), FIX)
    try:
        size, digest = check_file(place, MOST_BYTES), ""
        # A file of another size, perhaps a sparse one of a terabyte, need not be read.
        if size == wanted.bytes:
            with place.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
    except BadInput as error:
        return error
    except OSError as error:
        return BadInput(f"cannot be read: {error.strerror}", str(place), FIX)
    if digest != wanted.sha256:
        return BadInput("damaged: its content has changed since it was written", str(place), FIX)
    return None


def _tried(places: list[Path]) -> dict[Path, str]:
    """Read tables in another process; return the damage of those that cannot be read.

    A table that ends the process is damaged; another process reads those after it.
    """
    found: dict[Path, str] = {}
    rest = list(places)
    while rest:
        some = rest[:AT_ONCE]
        answered = list(_answers(some))
        found |= {place: why for place, why in zip(some, answered, strict=False) if why}
        if len(answered) < len(some):
            found[some[len(answered)]] = "damaged: its reader crashed"
        rest = rest[min(len(answered) + 1, len(some)) :]
    return found


def _answers(places: list[Path]) -> Iterator[str]:
    """Yield for each table why it cannot be read, "" if it can; end where the reader crashes."""
    argv = [sys.executable, "-m", "delaylab.dataset.try_tables", *map(os.fspath, places)]
    with started(argv, dict(os.environ), errors=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        for line in process.stdout:
            yield json.loads(line)
