"""Changes that something else than the trial made to the conditions of its links."""

from __future__ import annotations

from collections import Counter

from delaylab.api.records import Doubt, DoubtKind, doubt
from delaylab.api.running import LiveLab, link_reports

REMEDY = "change a study's links by its factors or a timeline, not by `link set` while it runs"


def requests(lab: LiveLab) -> Counter[str]:
    """Return for each link the number of changes by `link set` since its engines started.

    A trial makes none: it restores the lab file's conditions, and the engines follow the timeline.
    """
    counts: Counter[str] = Counter()
    for report in link_reports(lab):
        for direction in report.of_nodes:
            counts[direction.link] += direction.requests
    return counts


def doubts(before: Counter[str], after: Counter[str]) -> list[Doubt]:
    """Return a doubt for each link that was changed between two readings of `requests`."""
    return [
        doubt(
            DoubtKind.CONDITIONS_CHANGED,
            f"the conditions of link {link} were changed by `link set` during the trial",
            REMEDY,
            link=link,
            changes=count,
        )
        for link, count in (after - before).items()
    ]
