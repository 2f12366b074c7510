"""vem2006's claims on the sizes of figure 21: detection and convergence of each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from delaylab_study.papers.toolkit import (
    Claim,
    Criterion,
    Floats,
    Group,
    Measure,
    Measured,
    Source,
    mean_of_few,
    no_more_than,
)

from ..published import CONVERGENCE_S
from .measures import (
    FEWEST,
    KINDS,
    LEVELS,
    NUMBER,
    Setting,
    convergence_s,
    detection_s,
    groups_of,
    settings,
)
from .tolerance import convergence_tolerance_s, detection_tolerance_s

US = 1e6
NOT_QUAGGA = "Here FRR runs, where the paper had Quagga 0.98.5"


def detection_off(test: str) -> Measure:
    """Return a measure of how far detection in a test is from figure 21's."""
    detection, _, _ = CONVERGENCE_S[test]
    return lambda groups: _off(groups, test, detection_s, (detection, detection))


def convergence_off(test: str) -> Measure:
    """Return a measure of how far convergence after detection is from figure 21's."""
    _, several, one = CONVERGENCE_S[test]
    return lambda groups: _off(groups, test, convergence_s, (several, one))


def _off(
    groups: list[Group],
    test: str,
    times_s: Callable[..., Floats],
    published: tuple[float, float],
) -> Iterator[Measured]:
    for where in settings(groups):
        for single in (False, True):
            found = times_s(groups, where, test, single=single)
            if len(found) >= FEWEST:
                yield _measured(groups, where, test, found, published[single], single=single)


def _measured(
    groups: list[Group], where: Setting, test: str, found: Floats, paper_s: float, *, single: bool
) -> Measured:
    return Measured(
        f"{'one' if single else 'several'}, {where}",
        mean_of_few(US * (found - paper_s)),
        groups_of(groups, where, LEVELS[test][single]),
        f"{found.mean():.1f} s (figure 21: {paper_s:.0f} s)",
        0.0,
        aside=not where.is_as_figure,
        kinds=KINDS,
    )


def _claim(name: str, test: str, text: str, sentence: str) -> Claim:
    detection, several, one = CONVERGENCE_S[test]
    levels = " or ".join(f"event={level}" for level in LEVELS[test])
    needs = f"trials with {levels}, network=nbma and daemon=frr"
    return Claim(
        name,
        f"{text}: it is detected after {detection:.0f} s, and {several:.0f} s later all tables are "
        f"right, or {one:.0f} s later with a single one.",
        Source("section V C", sentence, "figure 21"),
        (
            Criterion(
                f"time to the first change of an adjacency less the {detection:.0f} s of figure 21",
                "µs",
                no_more_than(US * detection_tolerance_s(test)),
                detection_off(test),
                needs,
                event=NUMBER[test],
            ),
            Criterion(
                f"from then to the last change of a table, less the {several:.0f} s of figure 21 "
                f"({one:.0f} s of a single one)",
                "µs",
                no_more_than(US * convergence_tolerance_s(test)),
                convergence_off(test),
                needs,
                event=NUMBER[test],
            ),
        ),
        caveat=NOT_QUAGGA,
        about=("protocol",),
    )


SIZES = (
    _claim(
        "ospf-link-down-size",
        "link down",
        "Five links fail",
        "In this scenario, all routers finish route re-computation within the same second that the "
        "failures occurred.",
    ),
    _claim(
        "ospf-link-up-size",
        "link up",
        "Five links come up",
        "In our experiments adjacency is established 41 seconds after the link is operational and "
        "convergence is completed 25 seconds later.",
    ),
    _claim(
        "ospf-router-down-size",
        "router down",
        "Six routers fail",
        "On the average in our experiments the first router to bring down the adjacency did so "
        "around 26 seconds after the router failure. After this the rest of the network took 17 "
        "seconds to converge.",
    ),
    _claim(
        "ospf-router-up-size",
        "router up",
        "Six routers start",
        "Bringing routers up, adjacencies with the new router are formed 3 seconds after the "
        "routers become active. … After this adjacency is setup it still takes the network 49 "
        "seconds to converge.",
    ),
    _claim(
        "ospf-restart-size",
        "router restart",
        "Six routers restart",
        "The re-establishment of the adjacency is very fast (similar to the case where a new "
        "router starts) but convergence will happen 52 seconds later.",
    ),
)
