"""Verb `why`, without logic."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from delaylab.api.command_line import HelpGroup, Json, app, console, print_json


@app.command(rich_help_panel=HelpGroup.DATASETS)
def why(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="The directory of a dataset, which `run` prints.")
    ],
    slowest: Annotated[
        int, typer.Option(metavar="N", min=1, help="Say of so many packets why they took longer.")
    ] = 10,
    trial: Annotated[
        str | None, typer.Option(metavar="TRIAL", help="Of this trial only, such as `repeat=1`.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Say why packets took longer than usual: who had the CPU, who was stopped, which link.

    The probe of the study needs `causes: true`, so that what the CPUs do is recorded.
    """
    from delaylab_study.dataset.intact import check_intact, read_intact
    from delaylab_study.report import why as shown
    from delaylab_study.verbs.why import why as found_of

    study = read_intact(directory)
    found = found_of(study, slowest, trial)
    if as_json:
        print_json(shown.as_json(found.trials, found.slowest))
    else:
        shown.show(found.trials, found.slowest, console())
    check_intact(study)
