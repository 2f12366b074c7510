"""Quantities of oliveira2022's claims on containers (section 4.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from delaylab_study.papers.toolkit import (
    Group,
    Measure,
    Measured,
    Statistic,
    amount,
    estimate,
    label,
    matched,
    pick,
)

from .balance import (
    CONTAINERS,
    DOCKER,
    FASTEST,
    HELD,
    LXC,
    NETWORK,
    OVER_RTT,
    OVERHEAD,
    RTT,
    loading,
    of,
    run,
    vms,
    with_rest,
)
from .measures import median_ratio, median_said, middle, quartile_ratio
from .published import LXC_CLIMB_MS, LXC_OVERHEAD_MS, LXC_RTT_MS

PUBLISHED_OVERHEAD_US = 10.0


def climb(environment: str, *, steps: bool) -> Measure:
    """Return a measure of the climb of a container's median RTT with the paper's guests.

    The trials are those at 1 Mpps under CPU load at the sender. With `steps` each number of guests
    is compared with the next smaller one, else the most with the fewest.
    """

    def measure(groups: list[Group]) -> Iterator[Measured]:
        chosen = pick(groups, environment=environment, load="cpu", place="sender", rate=FASTEST)
        counted = {
            vms(group): (group, values)
            for group in chosen
            if vms(group) in LXC_CLIMB_MS and (values := run(group, RTT)) is not None
        }
        counts = sorted(counted)
        if len(counts) < len(LXC_CLIMB_MS):
            return
        for few, most in pairwise(counts) if steps else ((counts[0], counts[-1]),):
            (of_few, before), (of_most, after) = counted[few], counted[most]
            yield Measured(
                f"{environment}, {few} to {most} guests",
                estimate([after, before], median_ratio),
                (of_most, of_few),
                f"{median_said(before)} with {few}, {median_said(after)} with {most}",
                LXC_CLIMB_MS[most] / LXC_CLIMB_MS[few] if environment == LXC else None,
            )

    return measure


def lxc_against_docker(
    of_both: Statistic, rates: Sequence[str], unit: str, *, turned: bool = False
) -> Measure:
    """Return a measure of LXC's RTTs against Docker's in scenarios that both have.

    `turned` is Docker's against LXC's.
    """

    def measure(groups: list[Group]) -> Iterator[Measured]:
        both = matched(of(groups, CONTAINERS), "environment", CONTAINERS)
        for lxc, docker in zip(both[LXC], both[DOCKER], strict=True):
            rate = lxc.factors.get("rate")
            ours, theirs = run(lxc, RTT), run(docker, RTT)
            if ours is None or theirs is None or rate not in (*rates, HELD):
                continue
            effect = estimate([theirs, ours] if turned else [ours, theirs], of_both)
            yield Measured(
                label(lxc, "vms", "load", "place", "rate"),
                effect,
                (lxc, docker),
                f"{median_said(ours)} with lxc, {median_said(theirs)} with docker; "
                f"{amount(effect.value, unit)}",
                aside=rate == HELD,
            )

    return measure


def lxc_at_high_rate(groups: list[Group]) -> Iterator[Measured]:
    """Yield the spread of LXC's RTTs at 1 Mpps over that at 1 kpps, in scenarios that both have."""
    both = matched(of(groups, (LXC,)), "rate", ("1kpps", FASTEST))
    for slower, fast in zip(both["1kpps"], both[FASTEST], strict=True):
        ours, theirs = run(fast, RTT), run(slower, RTT)
        if ours is not None and theirs is not None:
            effect = estimate([ours, theirs], quartile_ratio)
            words = f"{effect.value:.2f} times as far apart"
            yield Measured(label(fast, "vms", "load", "place"), effect, (fast, slower), words)


def container_overhead(groups: list[Group]) -> Iterator[Measured]:
    """Yield the median overhead of containers, but for LXC's exception."""
    for group in of(groups, CONTAINERS):
        values = run(group, OVERHEAD)
        if values is not None and not _is_the_exception(group):
            yield Measured(
                group.label,
                estimate([values], middle),
                (group,),
                median_said(values),
                PUBLISHED_OVERHEAD_US,
                aside=group.factors.get("rate") == HELD,
            )


def exception_against_others(groups: list[Group]) -> Iterator[Measured]:
    """Yield LXC's overhead under CPU load at the sender over that of every other scenario."""
    exception = _exception(groups)
    ours = run(exception, OVERHEAD) if exception else None
    for group in of(groups, CONTAINERS):
        theirs = run(group, OVERHEAD)
        if exception is None or ours is None or theirs is None or _is_the_exception(group):
            continue
        yield Measured(
            group.label,
            estimate([ours, theirs], median_ratio),
            (exception, group),
            f"{median_said(ours)} in the exception, {median_said(theirs)} here",
            aside=group.factors.get("rate") == HELD,
        )


def exception_share(groups: list[Group]) -> Iterator[Measured]:
    """Yield the overhead's share of LXC's RTT under CPU load at the sender, with most guests."""
    exception = _exception(groups)
    values = run(exception, OVER_RTT) if exception else None
    if exception is not None and values is not None:
        yield Measured(
            exception.label,
            estimate([values], middle),
            (exception,),
            median_said(values, OVER_RTT),
            LXC_OVERHEAD_MS / LXC_RTT_MS,
        )


def docker_against_rest(*, under_network_at_responder: bool) -> Measure:
    """Return a measure of Docker's RTT under load over that without guests, by scenario.

    The scenarios are those under network load at the responder, or all others.
    """

    def measure(groups: list[Group]) -> Iterator[Measured]:
        for group, rest in with_rest(of(groups, (DOCKER,))):
            ours, theirs = run(group, RTT), run(rest, RTT)
            here = (loading(group) == NETWORK) == under_network_at_responder
            if here and ours is not None and theirs is not None:
                yield Measured(
                    label(group, "vms", "load", "place", "rate"),
                    estimate([ours, theirs], median_ratio),
                    (group, rest),
                    f"{median_said(theirs)} without guests, {median_said(ours)} with {vms(group)}",
                    aside=group.factors.get("rate") == HELD,
                )

    return measure


def _exception(groups: list[Group]) -> Group | None:
    """Return LXC's trials at 1 Mpps under CPU load at the sender, with as many guests as most."""
    found = [group for group in of(groups, (LXC,)) if _is_the_exception(group)]
    most = max(found, key=vms, default=None)
    return most if most is not None and vms(most) == max(LXC_CLIMB_MS) else None


def _is_the_exception(group: Group) -> bool:
    return group.factors.get("environment") == LXC and (
        label(group, "load", "place", "rate") == f"cpu, sender, {FASTEST}"
    )
