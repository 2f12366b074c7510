"""Section of a report on links with conditions, in words: configured against achieved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from delaylab.analysis.group import Group
from delaylab.analysis.links.fidelity import TrialLink
from delaylab.analysis.links.verdict import Verdict
from delaylab.analysis.statistics.shares import ShareCheck
from delaylab.charts import words
from delaylab.spec.condition_words import one_line

# Largest number of rows that the page shows before a reader unfolds the rest.
SHOWN = 24
NOTE = (
    "One way, what one node sends. Late: send time − due time of all frames, by the engine's own "
    "record. Probe: measured delay between the ports before and after the engine − configured "
    "delay; if the conditions make the delay vary (jitter, rate, trace), the measured delay alone. "
    "Shares with their exact 95 % interval."
)


@dataclass(frozen=True, slots=True)
class Row:
    """One direction of a link in one trial."""

    trials: str
    link: str
    configured: str
    frames: str
    late: str
    probe: str
    chances: str
    rate: str
    verdict: str
    held: bool


@dataclass(frozen=True, slots=True)
class Links:
    """Section on links: one line on all trials, then row by row.

    `engines` are the reasons that concern all links of an engine, each said once.
    """

    summary: str
    engines: list[str]
    rows: list[Row]

    @property
    def many(self) -> bool:
        """Return True if there are too many rows to show at once."""
        return len(self.rows) > SHOWN


def links(groups: list[Group]) -> Links | None:
    """Return the section on links with conditions that were used, None if there are none.

    Directions that did not hold come first.
    """
    rows = [
        _row(group.label, link)
        for group in groups
        for link in group.directions
        if link.verdict.used or link.verdict.own
    ]
    if not rows:
        return None
    held = sum(row.held for row in rows)
    summary = f"{held} of {len(rows)} directions kept their conditions.{_floor(groups)}"
    return Links(summary, _engines(groups), sorted(rows, key=lambda row: row.held))


def _engines(groups: list[Group]) -> list[str]:
    """Return the reasons of engines, each with the trials that it concerns."""
    trials: dict[str, dict[str, None]] = {}
    for group in groups:
        for link in group.directions:
            for why in link.verdict.of_engine:
                trials.setdefault(why, {})[group.label] = None
    return [f"{'; '.join(labels)}: {why}" for why, labels in trials.items()]


def _floor(groups: list[Group]) -> str:
    """Return the worst delays by the engines' own CPUs as a sentence, or "" if not known."""
    floors = (link.verdict.noise for group in groups for link in group.directions)
    worst = max((f for f in floors if f.known), key=lambda floor: floor.p99_ns, default=None)
    return f" Link engines, in the worst trial: {worst.text}." if worst else ""


def _row(label: str, link: TrialLink) -> Row:
    verdict = link.verdict
    direction = verdict.direction
    return Row(
        trials=label,
        link=verdict.name.removeprefix("link "),
        configured=one_line(direction.configured) or "nothing",
        frames=f"{direction.entered.frames} → {direction.left.frames}",
        late=_late(link),
        probe=_probe(link),
        chances=", ".join(_chances(link)) or "–",
        rate=_rate(link),
        verdict=_verdict(verdict),
        held=verdict.held,
    )


def _verdict(verdict: Verdict) -> str:
    """Return the verdict in words; the reasons of its engine are said once for all its links."""
    if not verdict.of_engine:
        return verdict.text
    said = f"not held, because of the engine of {verdict.host} (see there)"
    return "; ".join([said, *verdict.own])


def _late(link: TrialLink) -> str:
    late = link.verdict.direction.late
    if not late.count or late.p50_ns is None or late.p99_ns is None:
        return "–"
    return f"{words.delay(late.p50_ns / 1000)} / {words.delay(late.p99_ns / 1000)}"


def _probe(link: TrialLink) -> str:
    found = link.measured
    if found is None:
        return "–"
    if found.error is None:
        return f"{words.delay(found.median)} / {words.delay(found.p99)} in all"
    return f"{words.signed(found.error.median)} / {words.signed(found.error.p99)}"


def _chances(link: TrialLink) -> Iterator[str]:
    for name, check in link.verdict.shares.items():
        yield f"{name} {_share(check)}"
    dropped = link.verdict.direction.dropped
    for name, count in (("queue", dropped.queue), (_discipline(link), dropped.early)):
        if count:
            yield f"{count} dropped by {name}"


def _discipline(link: TrialLink) -> str:
    queue = link.verdict.direction.configured.queue
    return queue.discipline.kind if queue and queue.discipline else "discipline"


def _share(check: ShareCheck) -> str:
    low, high = check.interval
    return f"{100 * check.achieved:.3g} % [{100 * low:.3g} %, {100 * high:.3g} %]"


def _rate(link: TrialLink) -> str:
    rate = link.verdict.rate
    if rate is None:
        return "–"
    return f"{rate.achieved / 1e6:.3f} of {rate.configured / 1e6:g} Mbit/s"
