"""Cost of measuring: the time that the taps add."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from delaylab.analysis.group import Group
from delaylab.analysis.packets.instrument import AtRest, Cost, cost
from delaylab.charts import words
from delaylab.io.values import JsonObject
from delaylab.report.sections.section import Html, Report, interval


def terminal(report: Report, width: int) -> Iterator[Text]:
    """Yield a line for each kind of sender."""
    for kind, found in cost_by_kind(report.groups).items():
        if found.added or found.untapped_n:
            said = f"{kind}: the taps add to the user RTT at rest: {words.cost(found)}"
            yield Text(said, "dim")


def study_json(report: Report) -> JsonObject:
    """Return what the taps add, by the sender's kind."""
    found = cost_by_kind(report.groups)
    return {"instrument": {kind: _json(added) for kind, added in found.items()}}


def html(report: Report) -> Html:
    """Return what the taps add, by the sender's kind."""
    return Html({"costs": cost_by_kind(report.groups)})


def cost_by_kind(groups: list[Group]) -> dict[str, Cost]:
    """Return the instrument's cost by the sender's kind, over all its trials."""
    known: dict[str, list[AtRest]] = {}
    for group in groups:
        if group.packets:
            known.setdefault(group.kind, []).append(group.packets.at_rest)
    return {kind: cost(found) for kind, found in known.items()}


def _json(found: Cost) -> JsonObject:
    added = found.added
    return {
        "tapped_n": found.tapped_n,
        "untapped_n": found.untapped_n,
        "pairs": found.pairs,
        "trials": found.trials,
        "tapped_median_us": found.tapped_us,
        "untapped_median_us": found.untapped_us,
        "added_us": added.value if added else None,
        "added_us_interval": interval(added.interval if added else None),
        "why": found.why,
    }
