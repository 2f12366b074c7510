"""Forecast of what a machine can decide of a study, for `delaylab doctor --study`."""

from __future__ import annotations

from delaylab.api.command_line import console, print_found


def forecast(study: str, *, as_json: bool) -> None:
    """Print which claims of a study this machine can be expected to decide."""
    from delaylab.api.terminal import bar
    from delaylab_study.verbs import studies, study_plans
    from delaylab_study.verbs.study_file import load

    chosen = load(study)
    planned = studies.planned_study(chosen.study, "quick", {})
    with bar(console(stderr=True)) as progress:
        expected = study_plans.dry_run(planned, chosen.paper, progress)
    print_found(expected, study_plans.as_json, study_plans.print_summary, as_json=as_json)
