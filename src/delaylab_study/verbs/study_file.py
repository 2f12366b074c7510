"""Study file for `delaylab run`, loaded without the analysis, which is slow to import."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from delaylab.api.documents import read_document
from delaylab.api.errors import BadInput
from delaylab_study.papers.studies import find, is_paper
from delaylab_study.study_file.combine import StudyFile
from delaylab_study.study_file.load import study_from
from delaylab_study.study_file.maps import with_maps
from delaylab_study.verbs.given import given

if TYPE_CHECKING:
    from delaylab_study.papers.paper import Paper


@dataclass(frozen=True, slots=True)
class LoadedStudy:
    """A study to run, and the paper to report it by if the user gave one.

    `paper_text` is the paper as `--paper` takes it, "" if none was given.
    """

    study: StudyFile
    paper: Paper | None = None
    paper_text: str = ""


def check_choice(
    study: str | None,
    resume: Path | None,
    like: Path | None,
    *,
    anew: bool,
    changed: bool,
    repeat: bool,
) -> None:
    """Raise BadInput unless exactly one of a study, `--resume` and `--like` says what to run.

    With `anew` there are options for a new dataset, with `changed` some that change the study, with
    `repeat` the number of its repeats.
    """
    if resume is not None and (study or like or anew or changed):
        what = "--resume continues a dataset as it was begun"
        fix = "leave out the study, --like, --scale, --only, --out and --dry-run"
        raise BadInput(what, fix=fix)
    if like is not None and (study or changed or repeat):
        what = "--like runs the study of a dataset as it was run"
        raise BadInput(what, fix="leave out the study, --scale, --only and --repeat")
    if not (study or resume or like):
        raise BadInput("give a study, --resume DIR or --like DIR", fix="delaylab run quickstart")


def load(name: str, paper: str | None = None) -> LoadedStudy:
    """Load a study by its name, its file or its paper's folder, with the paper that is given.

    The code of a given paper is imported. Raise BadInput for an unknown claim, or for a study of
    another paper.
    """
    return checked(study_from(with_maps(read_document(find(name)))), name, paper)


def checked(loaded: StudyFile, name: str, paper: str | None) -> LoadedStudy:
    """Return a study that was read by `name`, with its paper; its claims are checked."""
    text = paper or (name if is_paper(name) else "")
    if not text and not any(isinstance(claim, str) for claim in loaded.spec.claims):
        return LoadedStudy(loaded)
    # Analyses are slow to import: errors in the file are reported before.
    from delaylab_study.papers.loading import check_names  # noqa: PLC0415

    repeated = given(text)
    if repeated is not None and loaded.spec.source not in ("", repeated.name):
        what = f"the study repeats {loaded.spec.source!r}, the paper is {repeated.name!r}"
        raise loaded.document.refuse(what, ("source",))
    check_names(loaded.spec.claims, loaded.document, repeated)
    return LoadedStudy(loaded, repeated, text)
