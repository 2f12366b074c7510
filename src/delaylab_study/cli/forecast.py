"""Answers of `delaylab doctor` that studies give: `--study` and `--stable`."""

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


def stable(kind: str, trials: int, *, as_json: bool) -> bool:
    """Print whether this machine is fit to measure, by null trials; return True if it is."""
    from delaylab.api.terminal import bar
    from delaylab_study.verbs import stable as verb

    with bar(console(stderr=True)) as progress:
        found = verb.examine(kind, trials, progress)
    print_found(found, verb.as_json, verb.print_stable, as_json=as_json)
    return not found.faults
