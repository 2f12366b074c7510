"""Runs of studies for the API."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from delaylab.api.loading import File, Lab
from delaylab.api.terminal import terminal
from delaylab_study.api.datasets import Dataset, dataset_of
from delaylab_study.api.loading import LoadedStudy, study_of
from delaylab_study.dataset.store import read_study
from delaylab_study.verbs import studies


def run(
    study: LoadedStudy | Lab | File,
    *,
    scale: str = "quick",
    only: Mapping[str, Iterable[str]] | None = None,
    repeat: int | None = None,
    out: File | None = None,
    paper: File | None = None,
    progress: bool = False,
) -> Dataset:
    """Run a study as `delaylab run` does, and return its dataset.

    `study` is what `load` returns, or a study's name, file or paper's folder. `only` keeps some
    levels of factors, `repeat` is the number of trials of each combination if it is not that of the
    study, `out` is the dataset's directory (by default one in `results`), `paper` a
    paper's folder or the name of an installed one; `progress` shows a bar on standard error.
    Trials that failed are in the dataset with their reasons. Raise BadInput for an invalid study,
    DelaylabError if the dataset cannot be written.
    """
    loaded = study_of(study, paper)
    levels = {factor: set(chosen) for factor, chosen in (only or {}).items()}
    chosen = studies.planned_study(loaded.study, scale, levels, repeat)
    folder = studies.begin(chosen, None if out is None else Path(out))
    with Path(os.devnull).open("w") as nowhere:
        studies.run(folder, terminal(stderr=True) if progress else terminal(file=nowhere))
    found = dataset_of(read_study(folder), loaded.paper)
    found.write_packets()
    return found
