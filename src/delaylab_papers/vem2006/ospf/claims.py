"""vem2006's claims on the convergence of OSPF, section V C."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from delaylab_study.papers.toolkit import (
    Claim,
    Criterion,
    Group,
    Measured,
    Source,
    above,
    at_most,
    between,
    estimate_of_few,
    mean_of_few,
)

from ..published import CONVERGENCE_S
from ..published import DEAD_S as PUBLISHED_DEAD_S
from .measures import (
    DEAD_S,
    FEWEST,
    LEVELS,
    Setting,
    convergence_s,
    detection_s,
    events,
    groups_of,
    settings,
)

US = 1e6
UP_BEYOND_DOWN_S = sum(CONVERGENCE_S["link up"][:2]) - sum(CONVERGENCE_S["link down"][:2])
SILENT = CONVERGENCE_S["router down"][0] / PUBLISHED_DEAD_S
AT_ONCE_US = 1e6
"""The paper's accuracy: "we focus on an accuracy of one second"."""
EARLIEST, LATEST = 0.5, 1.1
"""Shares of the dead interval after which a dead router is given up: the interval, less the hello
interval of a quarter that may have passed since the last hello packet, and as much again. The
paper says 30 to 40 of 40 s, and measured 26."""
ALIKE = (0.5, 2.0)
"""Ratios of the times of several and of one that are "about the same"; the paper's are 1 to 1.3."""


def link_down_detections(groups: list[Group]) -> Iterator[Measured]:
    """Yield the time until a failed link is noticed, of several links and of one."""
    for where in settings(groups):
        for single in (False, True):
            found = detection_s(events(groups, where, "link down", single=single))
            if len(found) >= FEWEST:
                used = groups_of(groups, where, LEVELS["link down"][single])
                paper = CONVERGENCE_S["link down"][0]
                name = f"{'one link' if single else 'five links'}, {where}"
                yield Measured(
                    name, mean_of_few(US * found), used, f"{found.mean():.3f} s", US * paper
                )


def up_beyond_down(groups: list[Group]) -> Iterator[Measured]:
    """Yield by how much longer the network needs when five links come up than when they fail."""
    for where in settings(groups):
        down = events(groups, where, "link down", single=False)
        up = events(groups, where, "link up", single=False)
        before = {each.trial: each.last_change_s for each in down}
        pairs = [(each.last_change_s, before.get(each.trial)) for each in up]
        found = np.array([b - a for b, a in pairs if a is not None and b is not None])
        if len(found) >= FEWEST:
            used = groups_of(groups, where, "links")
            yield Measured(
                str(where),
                mean_of_few(US * found),
                used,
                f"{found.mean():.2f} s",
                US * UP_BEYOND_DOWN_S,
            )


def router_down_detections(groups: list[Group]) -> Iterator[Measured]:
    """Yield the time until a silent router is given up, as a share of the dead interval."""
    for where in settings(groups):
        for single in (False, True):
            found = detection_s(events(groups, where, "router down", single=single))
            if len(found) >= FEWEST:
                shares = found / DEAD_S[where.timers]
                used = groups_of(groups, where, LEVELS["router down"][single])
                name = f"{'one router' if single else 'six routers'}, {where}"
                yield Measured(name, mean_of_few(shares), used, f"{found.mean():.2f} s", SILENT)


def _ratios(groups: list[Group], tests: tuple[str, ...]) -> Iterator[Measured]:
    for where in settings(groups):
        for test in tests:
            yield from _ratio(groups, where, test)


def _ratio(groups: list[Group], where: Setting, test: str) -> Iterator[Measured]:
    """Yield the mean convergence of several over that of one, if both are known."""
    several = convergence_s(events(groups, where, test, single=False))
    one = convergence_s(events(groups, where, test, single=True))
    if min(len(several), len(one)) < FEWEST or not one.mean():
        return
    effect = estimate_of_few(
        [several, one], lambda s: np.asarray(s[0].mean(axis=-1) / s[1].mean(axis=-1))
    )
    used = [each for level in LEVELS[test] for each in groups_of(groups, where, level)]
    words = f"{several.mean():.2f} s and {one.mean():.2f} s"
    _, paper_several, paper_one = CONVERGENCE_S[test]
    yield Measured(f"{test}, {where}", effect, used, words, paper_several / paper_one)


LONGER = ("link up", "router down")
AS_LONG = ("link down", "router up", "router restart")


def longer_ratios(groups: list[Group]) -> Iterator[Measured]:
    """Yield the ratios of the tests in which several take longer than one."""
    return _ratios(groups, LONGER)


def other_ratios(groups: list[Group]) -> Iterator[Measured]:
    """Yield the ratios of the other tests."""
    return _ratios(groups, AS_LONG)


LINKS = "trials with event=links or event=link"
ROUTERS = "trials with event=routers or event=router"
BOTH = "trials with several links or routers and with one"
CLAIMS = {
    claim.id: claim
    for claim in (
        Claim(
            "ospf-link-down-at-once",
            "A failed link is noticed at once by the routers at its ends.",
            Source(
                "section V C",
                "The link failure is detected immediately by the routers adjacent to the link "
                "which also flood the information to all other routers.",
            ),
            (
                Criterion(
                    "time to the first change of an adjacency after links failed",
                    "µs",
                    at_most(AT_ONCE_US),
                    link_down_detections,
                    LINKS,
                ),
            ),
        ),
        Claim(
            "ospf-link-up-takes-longer",
            "The network takes longer when links come up than when they fail.",
            Source(
                "section V C",
                "In the link up test we bring these links up again. This time convergence takes "
                "longer.",
            ),
            (
                Criterion(
                    "time to the last change of a table, links up less links down",
                    "µs",
                    above(0),
                    up_beyond_down,
                    "trials with event=links",
                ),
            ),
        ),
        Claim(
            "ospf-router-down-by-hellos",
            "A router that is down is noticed when its hello packets have been missing for the "
            "dead interval.",
            Source(
                "section V C",
                "When routers are brought down Quagga will detect the failure of the link "
                "through the OSPF HELLO timeout mechanism that can take between 30 and 40 "
                "seconds to detect that a link has failed.",
            ),
            (
                Criterion(
                    "time to the first change of an adjacency ÷ dead interval",
                    "share",
                    between(EARLIEST, LATEST),
                    router_down_detections,
                    ROUTERS,
                ),
            ),
        ),
        Claim(
            "ospf-several-take-longer",
            "When links come up and routers go down, several take longer than one.",
            Source(
                "section V C",
                "In these measurements the detection time does not change but the convergence time "
                "is larger in the link up and router down cases.",
            ),
            (
                Criterion(
                    "convergence after detection, of several ÷ of one",
                    "times",
                    above(1),
                    longer_ratios,
                    BOTH,
                ),
            ),
        ),
        Claim(
            "ospf-others-take-as-long",
            "In the other tests convergence takes about the same time, however many are affected.",
            Source(
                "section V C",
                "In all the other cases, detection is very fast so independent of the number of "
                "affected links and nodes convergence will take about the same time.",
            ),
            (
                Criterion(
                    "convergence after detection, of several ÷ of one",
                    "times",
                    between(*ALIKE),
                    other_ratios,
                    BOTH,
                ),
            ),
        ),
    )
}
