"""vem2006's claims on isolation, end of section IV C."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from delaylab_study.papers.toolkit import (
    Claim,
    Criterion,
    Effect,
    Group,
    Measured,
    Source,
    at_least,
    at_most,
    estimate_of_few,
    in_words,
    mean_of_few,
    no_more_than,
    pick,
)

from ..routers.searches import SEARCHES
from .measures import (
    HALF,
    NOTHING,
    KindAndSize,
    Shaped,
    hog_takes,
    of_shaping,
    settings,
    shaped,
    unshaped_rates,
)

AS_SHAPED = 0.03
"""Limit for a rate that is "correctly" kept: figure 19 has 97 Mbit/s of 100, delayed by 100 ms."""
LATE_US = 125.0
"""Limit for a frame that is "correctly" delayed. With a delay of up to 10 ms, the mean of figure 16
is at most 0.125 ms more or less than the delay and the mean without one."""
SAME_RATE = 0.02
"""Limit for "the same rate". Figure 19's rates fall from 98.5 to 97 Mbit/s, by 1.5 %, and the paper
speaks of no "noticeable drop"; its numbers are rounded to 0.5 %."""
SENTENCE = (
    "In all cases the system was able to correctly shape and delay the traffic while flows that "
    "were not rate limited or delayed achieved the same rate they would on a system where there "
    "was no traffic conditioning employed."
)


def rate_errors(groups: list[Group]) -> Iterator[Measured]:
    """Yield by how much each shaped flow is off what it is due."""
    for (name, used), found in _by_flow(groups):
        off = np.array([abs(each.ratio - 1) for each in found])
        effect = estimate_of_few([off], lambda s: np.asarray(s[0].mean(axis=-1)))
        words = f"{found[0].ratio - 1:+.2%} in the first trial"
        yield Measured(name, effect, used, words, kinds=(found[0].kind,))


def latenesses(groups: list[Group]) -> Iterator[Measured]:
    """Yield the median lateness of each shaped flow's frames, the mean of its trials."""
    for (name, used), found in _by_flow(groups):
        late = [each.late_us for each in found if each.late_us is not None]
        if len(late) >= SEARCHES:
            effect = mean_of_few(np.array(late))
            words = f"{in_words(effect.value)}, at most {in_words(max(late))}"
            yield Measured(name, effect, used, words, kinds=(found[0].kind,))


def _by_flow(groups: list[Group]) -> Iterator[tuple[tuple[str, list[Group]], list[Shaped]]]:
    """Yield each shaped flow's name and groups, with what it was in each of their trials."""
    for kind, size in settings(groups):
        used = of_shaping(pick(groups, kind=kind, size=size), HALF)
        flows: dict[str, list[Shaped]] = {}
        for each in shaped(used):
            flows.setdefault(each.link, []).append(each)
        for link, found in flows.items():
            if len(found) >= SEARCHES:
                yield (f"{link}, {kind}, {size} bytes", used), found


def changed_by_shaping(groups: list[Group]) -> Iterator[Measured]:
    """Yield the change of what unshaped flows receive when others are shaped."""
    for where in settings(groups):
        effect = unshaped_rates(groups, where)
        if effect is not None:
            yield _change(groups, where, ", ".join((where[0], f"{where[1]} bytes")), effect)


def taken_by_hog(groups: list[Group]) -> Iterator[Measured]:
    """Yield the change of what flows receive, beside a CPU hog."""
    for where in settings(groups):
        for shaping in (NOTHING, HALF):
            effect = hog_takes(groups, where, shaping)
            if effect is not None:
                name = f"{where[0]}, {where[1]} bytes, shaped: {shaping}"
                yield _change(groups, where, name, effect)


def _change(groups: list[Group], where: KindAndSize, name: str, effect: Effect) -> Measured:
    used = pick(groups, kind=where[0], size=where[1])
    return Measured(name, effect, used, f"{effect.value:+.2%}", kinds=(where[0],))


FLOWS = "trials in which half of the flows are shaped"
CLAIMS = {
    claim.id: claim
    for claim in (
        Claim(
            "isolated-shaped-as-asked",
            "At the highest load the system shapes and delays correctly.",
            Source("section IV C", SENTENCE),
            (
                Criterion(
                    "distance of a shaped flow's rate from what it is due",
                    "share",
                    at_most(AS_SHAPED),
                    rate_errors,
                    FLOWS,
                ),
                Criterion(
                    "median lateness of a shaped flow's frames",
                    "µs",
                    at_most(LATE_US),
                    latenesses,
                    FLOWS,
                ),
            ),
            about=("link", "scheduling"),
        ),
        Claim(
            "isolated-unshaped-unmoved",
            "Flows that are not shaped achieve the same rate as where none is.",
            Source("section IV C", SENTENCE),
            (
                Criterion(
                    "change of what unshaped flows receive, when others are shaped",
                    "share",
                    no_more_than(SAME_RATE),
                    changed_by_shaping,
                    f"{SEARCHES} blocks of trials with and without shaping half of the flows",
                ),
            ),
            about=("scheduling",),
        ),
        Claim(
            "isolated-from-hog",
            "A CPU hog does not affect the operation of the rest.",
            Source(
                "section IV C",
                "The CPU hog was not able to affect the operation of the rest of the system.",
            ),
            (
                Criterion(
                    "change of what flows receive, beside a CPU hog",
                    "share",
                    at_least(-SAME_RATE),
                    taken_by_hog,
                    f"{SEARCHES} blocks of trials with and without the hog",
                ),
            ),
            about=("scheduling",),
        ),
    )
}
