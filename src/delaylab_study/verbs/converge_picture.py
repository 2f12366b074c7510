"""The picture of a lab's events, for `delaylab converge --svg`, `--png` and `--html`."""

from __future__ import annotations

from collections.abc import Sequence

from delaylab.api.drawing import Picture
from delaylab.api.verdicts import Outcome
from delaylab_study.charts.convergence import timeline_of_outcomes
from delaylab_study.charts.vega import on_white
from delaylab_study.report import converged_page


def picture(name: str, outcomes: Sequence[Outcome]) -> Picture | None:
    """Return the picture of what followed each event of a lab; None if there was no event."""
    chart = timeline_of_outcomes(outcomes)
    if chart is None:
        return None
    return Picture(lambda: on_white(chart.svg), lambda: converged_page.render(name, outcomes))
