"""Arguments next to a study or a dataset: levels, a paper, and later claims.

Read without the models of study files, which `show` and `report` do not need.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from delaylab.api.errors import BadInput

if TYPE_CHECKING:
    from delaylab_study.dataset.store import Study
    from delaylab_study.papers.findings import Later
    from delaylab_study.papers.paper import Paper


def parse_only(pairs: Iterable[str], option: str = "--only") -> dict[str, set[str]]:
    """Read `factor=level` arguments of an option; several levels of one factor add up.

    Raise BadInput for an argument of another form.
    """
    only: dict[str, set[str]] = {}
    for pair in pairs:
        factor, equals, level = pair.partition("=")
        if not equals or not factor or not level:
            raise BadInput(f"{option} wants factor=level, got {pair!r}")
        only.setdefault(factor, set()).add(level)
    return only


def later_claims(path: Path | None, study: Study, paper: Paper | None) -> Later:
    """Return the claims of a file that were chosen after the data of a study; none without one.

    Raise BadInput if a claim is invalid, or is neither an own one nor one of the study's paper.
    """
    if path is None:
        return ()
    # Few give any, and the models of files take 30 ms to import.
    from delaylab.api.documents import read_document  # noqa: PLC0415
    from delaylab_study.study_file.check_claims import claims_from  # noqa: PLC0415

    document = read_document(path)
    probed = any(trial.probed for trial in study.trials)
    found = claims_from(document, study.record.factors, probed=probed)
    if any(isinstance(claim, str) for claim in found):
        from delaylab_study.papers.loading import check_names  # noqa: PLC0415  slow to import

        check_names(found, document, paper)
    return found


def given(paper: str | None) -> Paper | None:
    """Return the paper that `--paper` names, None if it is left out."""
    if not paper:
        return None
    from delaylab_study.papers.loading import given as loaded  # noqa: PLC0415  as above

    return loaded(paper)
