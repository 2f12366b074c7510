"""The output of `delaylab converge`: what followed each event, as text, JSON and a picture."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import cast

from rich.console import Console
from rich.table import Table

from delaylab import extensions, extras
from delaylab.errors import BadInput, NotHere
from delaylab.extensions import Additions
from delaylab.forwarding.fates import Interval
from delaylab.forwarding.until import SECOND_NS, Until
from delaylab.io.values import JsonObject
from delaylab.lab.running import LiveLab
from delaylab.plan.wiring import destinations
from delaylab.verbs import pictures
from delaylab.verbs.pictures import Picture, Targets
from delaylab.verdicts.outcome import Outcome

Drawer = Callable[[str, Sequence[Outcome]], Picture | None]
"""A function that draws events of a lab with this name; None if there is none to draw."""
OPTIONAL = ("carriers fell after", "without service")
"""The rows that are left out where there is nothing to say."""
PICTURE = "a picture of routers over time"
NEVER_QUIET = "not in time: tables still changed"
"""The words for a network that did not become quiet."""
SHOWN = 5
"""The most sets of routers with black holes, and with loops, that are printed."""


def as_json(outcomes: Sequence[Outcome]) -> list[JsonObject]:
    """Return outcomes for `--json`."""
    return [
        {
            "event": outcome.event,
            "event_ns": outcome.event_ns,
            "detected_s": outcome.after_s(outcome.detected_ns),
            "first_change_s": _seconds(outcome.effect.first_after_ns),
            "last_change_s": _seconds(outcome.effect.last_after_ns),
            "until": until_json(outcome.until),
            "converged_s": outcome.after_s(outcome.converged_ns),
            "right_s": outcome.after_s(outcome.right_ns),
            "wrong": outcome.verdict.wrong,
            "unforeseen": outcome.verdict.unforeseen,
            "changes": outcome.effect.changes.count if outcome.effect.changes else 0,
            "routers": {
                node: {
                    "first_s": outcome.after_s(span.first_ns),
                    "last_s": outcome.after_s(span.last_ns),
                    "changes": span.count,
                }
                for node, span in outcome.effect.routers.items()
            },
            "black_holes": [_interval(outcome, one) for one in outcome.holes],
            "loops": [_interval(outcome, one) for one in outcome.loops],
            "carriers_s": outcome.after_s(outcome.carriers_ns),
            "outages": _outages(outcome),
            "states": [asdict(one) for one in outcome.course.states],
            "ways": {
                "changed": outcome.course.detours.changed,
                "pairs": outcome.course.detours.pairs,
                "shown": [asdict(one) for one in outcome.course.detours.shown],
            },
            "lost": list(outcome.lost),
            "waited": None if outcome.waited is None else asdict(outcome.waited),
            "cpu_bound": outcome.is_cpu_bound,
        }
        for outcome in outcomes
    ]


def until_json(until: Until) -> JsonObject:
    """Return the convergence rule as `--json` prints it."""
    if until.quiet_ns is None:
        return {"rule": "right"}
    return {"rule": "quiet", "quiet_s": until.quiet_ns / SECOND_NS}


def require(targets: Targets) -> None:
    """Raise NotHere or BadInput if these files cannot be drawn, before anything is broken."""
    targets.require_folders()
    if targets != Targets():
        extras.require(PICTURE, "altair", "jinja2", "numpy", "vl_convert")


def draw(lab: LiveLab, outcomes: Sequence[Outcome], targets: Targets, console: Console) -> None:
    """Write the picture of events, or a page with it; print the files' names.

    Raises BadInput if there was no event to draw, DelaylabError if a file cannot be written.
    """
    if targets == Targets():
        return
    with extras.needed(PICTURE):
        drawer = extensions.load(Additions.PICTURES, "convergence")
    if drawer is None:
        raise NotHere("the package that draws events is not installed", fix=extras.INSTALL)
    picture = cast("Drawer", drawer)(lab.name, outcomes)
    if picture is None:
        raise BadInput("there is no event to draw", fix="name one, such as --down LINK")
    pictures.write(targets, picture.svg, picture.page, console)


def _interval(outcome: Outcome, one: Interval) -> JsonObject:
    return {
        "destination": one.destination,
        "nodes": sorted(one.nodes),
        "begin_s": outcome.after_s(one.begin_ns),
        "end_s": outcome.after_s(one.end_ns),
        "is_exact": one.is_exact,
    }


def _outages(outcome: Outcome) -> list[JsonObject] | None:
    if outcome.outages is None:
        return None
    return [
        {
            "source": one.source,
            "destination": one.destination,
            "begin_s": outcome.after_s(one.begin_ns),
            "end_s": outcome.after_s(one.end_ns),
        }
        for one in outcome.outages
    ]


def _seconds(ns: int | None) -> float | None:
    return None if ns is None else ns / 1e9


def print_outcomes(
    lab: LiveLab, until: Until, outcomes: Sequence[Outcome], console: Console
) -> None:
    """Print what followed each event: times, black holes and loops, the routers that changed.

    `until` is the rule by which the lab had converged before the first event.
    """
    if not outcomes:
        state = "right" if until.quiet_ns is None else until.words
        console.print(f"{lab.name}: all forwarding tables are {state}")
    owners = destinations(lab.plan)
    for each in outcomes:
        console.print(f"{each.event}", style="bold", soft_wrap=True)
        grid = Table(box=None, pad_edge=False, show_header=False)
        for words, value in _rows(each):
            grid.add_row(f"  {words}", value)
        console.print(grid)
        for what, found in (("black hole", each.holes), ("loop", each.loops)):
            for text in _at_routers(each, found, owners):
                console.print(f"  {what} {text}", soft_wrap=True)
        if each.lost:
            console.print(f"  messages were lost of {', '.join(each.lost)}", style="yellow")


def _rows(outcome: Outcome) -> list[tuple[str, str]]:
    effect = outcome.effect
    count, routers = effect.changes.count if effect.changes else 0, len(effect.routers)
    changes = f"{count} route{'s' * (count != 1)} of {routers} router{'s' * (routers != 1)}"
    rows = [
        ("carriers fell after", _words(outcome.after_s(outcome.carriers_ns))),
        ("detected after", _words(outcome.after_s(outcome.detected_ns))),
        ("first route changed", _words(_seconds(effect.first_after_ns))),
        ("last route changed", _words(_seconds(effect.last_after_ns))),
        *_ends(outcome),
        ("changes", changes),
        ("black holes", _count(outcome.holes)),
        ("loops", _count(outcome.loops)),
        ("without service", _without_service(outcome)),
        (
            "ways",
            f"{outcome.course.detours.changed} of {outcome.course.detours.pairs} pairs of nodes",
        ),
    ]
    rows = [row for row in rows if row[1] != "-" or row[0] not in OPTIONAL]
    if outcome.waited is not None:
        most = f"{outcome.waited.longest_ns / 1e6:.0f} ms in all at {outcome.waited.router}"
        verdict = (
            ": cpu-bound, the times are too long by up to that" if outcome.is_cpu_bound else ""
        )
        rows.append(("waited for a CPU", f"at most {most}{verdict}"))
    return rows


def _ends(outcome: Outcome) -> Iterator[tuple[str, str]]:
    """Yield when the network had converged, with the rule of that if it is not right tables."""
    if outcome.until.quiet_ns is None:
        right = str(outcome.verdict) or _words(outcome.after_s(outcome.right_ns))
        yield "all tables right", right
        return
    if outcome.until.why is not None:
        yield "all tables right", str(outcome.verdict)
    after = _words(outcome.after_s(outcome.converged_ns))
    yield (
        "converged",
        f"{after}, until {outcome.until.words}" if outcome.verdict.is_quiet else NEVER_QUIET,
    )


def _words(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1000:.0f} ms"


def _without_service(outcome: Outcome) -> str:
    """Return how many pairs of nodes were without service, and until when at last."""
    if outcome.outages is None:
        return "-"
    if not outcome.outages:
        return "no pair of nodes"
    ends = [one.end_ns for one in outcome.outages if one.end_ns is not None]
    lasting = len(outcome.outages) - len(ends)
    count = f"{len(outcome.outages)} pairs of nodes and addresses"
    until = f"the last until {_words(outcome.after_s(max(ends)))}" if ends else ""
    now = f"{lasting} still" if lasting else ""
    return ", ".join(filter(None, (count, until, now)))


def _count(intervals: Sequence[Interval]) -> str:
    to = len({each.destination for each in intervals})
    return f"{len(intervals)}, to {to} destinations" if intervals else "none"


def _at_routers(
    outcome: Outcome, intervals: Sequence[Interval], owners: dict[str, str]
) -> list[str]:
    """Return a line for each set of routers with black holes or loops, those of most first."""
    by_routers: dict[tuple[str, ...], list[Interval]] = {}
    for each in intervals:
        by_routers.setdefault(tuple(sorted(each.nodes)), []).append(each)
    lines = []
    for nodes, several in sorted(by_routers.items(), key=lambda item: -len(item[1]))[:SHOWN]:
        to = sorted({owners.get(each.destination, each.destination) for each in several})
        begins = [each.begin_ns for each in several]
        earlier = any(at_ns is None or at_ns < outcome.event_ns for at_ns in begins)
        ends = [each.end_ns for each in several if each.end_ns is not None]
        last = _words(outcome.after_s(max(ends))) if len(ends) == len(several) else "now"
        whom = to[0] if len(to) == 1 else f"{len(to)} nodes"
        known = [at_ns for at_ns in begins if at_ns is not None]
        first = "before it" if earlier else _words(outcome.after_s(min(known)))
        lines.append(f"at {' - '.join(nodes)}: to {whom}, from {first} to {last}")
    more = len(by_routers) - SHOWN
    return [*lines, f"at {more} more"] if more > 0 else lines
