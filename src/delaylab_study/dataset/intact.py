"""Damaged tables, found before they are read: the library that reads them may end the process.

A file that is not what its trial's record says is damaged. Records of earlier versions do not say
it; their tables are first read by another process (`delaylab_study.dataset.try_tables`).
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

from delaylab.api.errors import BadInput, DelaylabError, together
from delaylab.api.files import check_file, started
from delaylab_study.dataset.records.table_checks import MOST_BYTES, read_table
from delaylab_study.dataset.records.tables import OPTIONAL, TABLES
from delaylab_study.dataset.records.trial import TableFile, TrialRecord
from delaylab_study.dataset.store import Study, locked, read_study

AT_ONCE = 1000
"""The most files that one process reads: their names must fit into its arguments."""
FIX = "copy the dataset again, or resume the run, which measures the trial again"


def read_intact(directory: Path) -> Study:
    """Read a study's records; trials with a damaged table have failed, and are in `damaged`.

    So are those whose record is damaged, which are no trials of the study. Raise BadInput as
    `read_study` does.
    """
    study = read_study(directory)
    damaged: dict[str, BadInput] = {}
    untold: list[tuple[TrialRecord, Path]] = []
    for trial in study.trials:
        if trial.status == "ok":
            for place in _tables(study, trial):
                if place.stem not in trial.tables:
                    untold.append((trial, place))
                elif (found := _damage(place, trial.tables[place.stem])) is not None:
                    damaged.setdefault(trial.id, found)
    tried = _tried([place for trial, place in untold if trial.id not in damaged])
    for trial, place in untold:
        if place in tried:
            damaged.setdefault(trial.id, BadInput(tried[place], str(place), FIX))
    trials = [_failed(trial, damaged.get(trial.id)) for trial in study.trials]
    return replace(study, trials=trials, damaged=(*study.damaged, *damaged.values()))


def check_intact(study: Study) -> None:
    """Raise BadInput with the damage of all trials, if there is any."""
    if study.damaged:
        shown = any(trial.status == "ok" for trial in study.trials)
        raise together([_told(each, shown=shown) for each in study.damaged])


def set_aside(directory: Path) -> list[BadInput]:
    """Rename the folders of damaged trials, so that a resumed run measures these again.

    Return a line of each. Raise BadInput as `read_intact` does, DelaylabError if another run
    measures into the dataset, or if a folder cannot be renamed.
    """
    with locked(directory):
        return [_renamed(directory, each) for each in read_intact(directory).damaged]


def set_lost_aside(directory: Path) -> list[str]:
    """Rename the folders of trials that a lost machine let fail, as `set_aside` does.

    Return their names.
    """
    with locked(directory):
        lost = [trial.id for trial in read_study(directory).trials if trial.lost is not None]
        for trial in lost:
            _rename(directory, trial, "lost")
        return lost


def _rename(directory: Path, trial: str, why: str) -> Path:
    """Give the folder of a trial another name, which no reader takes for a trial's; return it."""
    place = directory / "trials" / trial
    to = (place.with_name(f".{why}-{number}-{trial}") for number in count(1))
    free = next(each for each in to if not each.exists())
    try:
        place.rename(free)
    except OSError as error:
        raise DelaylabError(f"cannot be renamed: {error.strerror}", str(place)) from None
    return free


def _renamed(directory: Path, damage: BadInput) -> BadInput:
    trial = trial_of(damage)
    free = _rename(directory, trial, "damaged")
    what = f"trial {trial} is {_reason(damage)}; it is kept as {free.name}, and is measured again"
    return BadInput(what, str(directory / "trials"))


def trial_of(damage: BadInput) -> str:
    """Return the name of the folder of a damaged trial."""
    return Path(damage.where).parent.name


def _told(damage: BadInput, *, shown: bool) -> BadInput:
    """Return the line of a damaged trial."""
    others = "; the others are shown" if shown else ""
    what = f"trial {trial_of(damage)} is {_reason(damage)}{others}"
    return BadInput(what, damage.where, damage.fix or FIX)


def _reason(damage: BadInput) -> str:
    return "damaged: " + damage.what.removeprefix("damaged: ")


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


def _damage(place: Path, wanted: TableFile) -> BadInput | None:
    """Return the damage of a file that is not as it was written, or should not have been."""
    found = _compared(place, wanted)
    if found is None:
        try:
            read_table(place, place.stem)
        except BadInput as error:
            found = BadInput(error.what, error.where, FIX)
    return found


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
    argv = [sys.executable, "-m", "delaylab_study.dataset.try_tables", *map(os.fspath, places)]
    with started(argv, dict(os.environ), errors=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        for line in process.stdout:
            yield json.loads(line)
