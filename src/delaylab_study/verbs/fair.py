"""Verb `delaylab fair`: the same work on all nodes of a lab at once, and each one's share."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from rich.console import Console

from delaylab.api.errors import BadInput, DelaylabError
from delaylab.api.files import JsonObject, columns
from delaylab.api.lab import Lab
from delaylab.api.lab_files import lab_from_data
from delaylab.api.plans import KINDS
from delaylab.api.progress import Progress
from delaylab.api.running import LiveLab, attach, temporary
from delaylab.api.terminal import print_lines
from delaylab_study.analysis.fairness import WITHIN, Fairness, Got, NodeShare, fairness
from delaylab_study.work.crew import together
from delaylab_study.work.jobs import JobResult
from delaylab_study.work.short import CPU, WORKS, ShortWork, prepared

SECONDS = 3
"""Length of each work in a round."""
FEWEST, MOST = 2, 64


@dataclass(frozen=True)
class Fair:
    """Fairness of a lab's nodes by work, and why other works could not be done.

    `longest_stop_s` has each node's longest time without progress in arithmetic, in s.
    """

    lab: str
    rounds: int
    works: dict[str, Fairness]
    not_done: dict[str, str]
    longest_stop_s: dict[str, float]


@contextmanager
def chosen(
    name: str | None, kind: str | None, nodes: int | None, progress: Progress
) -> Iterator[LiveLab]:
    """Provide the running lab of this name; without one, a lab of so many nodes of a kind.

    Left out, the kind is `netns`, and there are two nodes for each CPU.

    Raises BadInput if there is no such lab or kind, or if the nodes are too few or too many.
    """
    if name is not None:
        lab = attach(name)
        _check_count(len(lab.plan.nodes))
        yield lab
        return
    kind = kind or "netns"
    if kind not in KINDS:
        raise BadInput(f"no kind {kind!r}", "--kind", f"one of {', '.join(KINDS)}")
    count = min(MOST, 2 * (os.cpu_count() or 1)) if nodes is None else nodes
    _check_count(count)
    with temporary(_lab(kind, count), progress=progress) as lab:
        yield lab


def _check_count(nodes: int) -> None:
    if not FEWEST <= nodes <= MOST:
        raise BadInput(f"fairness is compared between {FEWEST} and {MOST} nodes, not {nodes}")


def examine(lab: LiveLab, works: Sequence[ShortWork], rounds: int, progress: Progress) -> Fair:
    """Let all nodes do each short work at once, in rounds, and return what each one got.

    Raises the error of the first work if none can be done.
    """
    nodes = list(lab.plan.nodes)
    found: dict[str, list[dict[str, JobResult]]] = {}
    failed: dict[str, DelaylabError] = {}
    for number in range(rounds):
        for index, work in enumerate(works):
            if work.name in failed:
                continue
            share = (number + index / len(works)) / rounds
            progress(f"round {number + 1} of {rounds}: {work.does}", share)
            try:
                with prepared(lab, work, nodes, SECONDS) as jobs:
                    done = together(lab, jobs, SECONDS)
            except DelaylabError as error:
                failed[work.name] = error
                found.pop(work.name, None)
            else:
                found.setdefault(work.name, []).append(done)
    if not found:
        raise next(iter(failed.values()))
    return Fair(
        lab.name,
        rounds,
        {name: fairness([_got(each) for each in done]) for name, done in found.items()},
        {name: str(error) for name, error in failed.items()},
        _longest_stops(found.get(CPU.name, [])),
    )


def works_of(names: Sequence[str]) -> list[ShortWork]:
    """Return the works of these names, all if there is none; raise BadInput if one is unknown."""
    known = {work.name: work for work in WORKS}
    for name in names:
        if name not in known:
            raise BadInput(f"no work {name!r}", "--work", f"one of {', '.join(known)}")
    return [known[name] for name in dict.fromkeys(names)] or list(WORKS)


def as_json(fair: Fair) -> JsonObject:
    """Return the result as JSON values."""
    # `said` is the older name of `verdict`.
    works = {name: {**asdict(work), "said": work.verdict} for name, work in fair.works.items()}
    return {**asdict(fair), "works": works, "within": WITHIN, "seconds": SECONDS}


def print_fair(fair: Fair, console: Console) -> None:
    """Print a sentence for each work, then every node's share of its fair share."""
    for work in WORKS:
        if work.name in fair.works:
            console.print(_sentence(work, fair.works[work.name]), soft_wrap=True)
    for name, why in fair.not_done.items():
        console.print(f"{name}: not done: {why}", style="yellow", soft_wrap=True)
    console.print()
    print_lines(columns(_table(fair), console.width), console.file)
    console.print(
        "\nEach node's rate of work in % of the mean of all nodes, ± half of its 95 % interval "
        f"over {fair.rounds} rounds of {SECONDS} s. STOPPED is its longest time without progress "
        "in arithmetic."
    )


def _sentence(work: ShortWork, fairness: Fairness) -> str:
    said = {
        "fair": "fair: all shares are within",
        "not fair": "not fair: a share is not within",
        "open": "open: more rounds are needed to tell if all shares are within",
    }[fairness.verdict]
    text = f"{work.name}: {said} {100 * WITHIN:.0f} % of fair"
    return text if fairness.verdict == "fair" else f"{text}. {_worst(fairness)}"


def _worst(fairness: Fairness) -> str:
    """Return a sentence on the node that got least, and which of two reasons weighs more."""
    share = fairness.shares[fairness.worst]
    ends = ", ".join(map(_percent, share.of_fair.interval))
    got = f"{fairness.worst} got least: {_percent(share.of_fair.value)} [{ends}]"
    if share.cpu <= share.speed:
        return f"{got}, with {_percent(share.cpu)} of the mean CPU time"
    return f"{got}, with {_percent(share.speed)} of the mean work in a second of CPU time"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _table(fair: Fair) -> Sequence[Sequence[str]]:
    names = list(fair.works)
    stops = fair.longest_stop_s
    head = ("NODE", *(name.upper() for name in names), *(("STOPPED",) if stops else ()))
    nodes = next(iter(fair.works.values())).shares
    rows = [
        (
            node,
            *(_share(fair.works[name].shares[node]) for name in names),
            *((f"{1000 * stops[node]:.0f} ms",) if stops else ()),
        )
        for node in nodes
    ]
    empty = ("",) if stops else ()
    jain = ("Jain's index", *(f"{fair.works[name].jain:.3f}" for name in names), *empty)
    spread = ("most / least", *(f"{fair.works[name].spread:.2f}" for name in names), *empty)
    return [head, *rows, jain, spread]


def _share(share: NodeShare) -> str:
    half = share.of_fair.interval[1] - share.of_fair.value
    return f"{100 * share.of_fair.value:.0f} ± {100 * half:.0f}"


def _got(done: Mapping[str, JobResult]) -> dict[str, Got]:
    """Return what the nodes got, with the host's view of CPU time if it has one of every node."""
    own = any(each.host_cpu_s is None for each in done.values())
    return {
        node: Got(each.rate, each.own_cpu_s if own else each.host_cpu_s or 0.0)
        for node, each in done.items()
    }


def _longest_stops(rounds: Sequence[Mapping[str, JobResult]]) -> dict[str, float]:
    nodes = rounds[0] if rounds else {}
    return {node: max(each[node].longest_stop_s or 0.0 for each in rounds) for node in nodes}


def _lab(kind: str, nodes: int) -> Lab:
    names = [f"n{number}" for number in range(1, nodes + 1)]
    return lab_from_data(
        {
            "lab": "fair",
            "hosts": {"one": {}},
            "nodes": {name: {"kind": kind, "host": "one"} for name in names},
            "links": [{"join": names, "name": "lan"}],
        }
    )
