"""Expansion of `count: N` in the loads and the work of a study, as of a lab in `expand`."""

from __future__ import annotations

from collections.abc import Iterable

from delaylab.api.lab_files import NamesInFile
from delaylab_study.study_file.loads import FramesLoad, LoadSpec
from delaylab_study.study_file.work import WorkSpec


def expand_loads(
    loads: Iterable[LoadSpec], nodes: NamesInFile, links: NamesInFile
) -> tuple[LoadSpec, ...]:
    """Return the loads written out: one per node of a count, over each of the links of a count."""
    return tuple(
        load.model_copy(update={"on": name, **_over(load, links)})
        for load in loads
        for name in nodes[load.on]
    )


def expand_work(work: Iterable[WorkSpec], nodes: NamesInFile) -> tuple[WorkSpec, ...]:
    """Return the work with every node of a count written out."""
    return tuple(
        job.model_copy(
            update={
                field: [node for name in named for node in nodes[name]]
                for field, named in job.ends.items()
            }
        )
        for job in work
    )


def _over(load: LoadSpec, links: NamesInFile) -> NamesInFile:
    if not isinstance(load, FramesLoad) or load.over is None:
        return {}
    return {"over": [each for name in load.over for each in links[name]]}
