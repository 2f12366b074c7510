"""Tests of vem2006's claims on the throughput of virtual routers, sections IV B and C."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from delaylab.analysis.claims.claim import Claim, Result, within
from delaylab.analysis.claims.groups import pick, weakest
from delaylab.analysis.group import Group
from delaylab.analysis.statistics.effects import Effect, estimate_of_few
from delaylab.analysis.statistics.quantiles import Floats
from delaylab.dataset.records.rates import Burst
from delaylab.papers.vem2006.forwarding import (
    CARRIED,
    DELAYED,
    HOST,
    OVERLOADED,
    PLAIN,
    SEARCHES,
    Setting,
    bursts,
    fairness,
    first_and_most,
    known,
    listed,
    lost_shares,
    median,
    ratio,
    searches,
)

B, C = "section IV B", "section IV C"
EQUAL, NEARLY_EQUAL = 0.99, 0.95
"""Limits of Jain's index for "split equally" and "split almost equally"."""
ABOUT_A_TENTH = 0.15
SMALLEST, LARGEST = 64, 1450
OFTEN = f"in {SEARCHES} searches or more"


def falls(groups: list[Group]) -> Result:
    """Test whether the first router costs more throughput than each further one."""
    rates = known(searches(pick(groups, engine=PLAIN)))
    found = {
        f"{most.kind}, {one.size} bytes": estimate_of_few(
            [rates[none], rates[one], rates[most]], _excess(most.routers - 1)
        )
        for one, most in first_and_most(rates)
        if (none := replace(one, routers=0, kind=HOST)) in rates
    }
    _, effect = weakest(found, f"throughput of no, one and several routers, {OFTEN}")
    why = f"the first router takes more than each further one by: {listed(found, _percent)}"
    return Result(effect.interval[0] > 0, why, effect, "share")


def _excess(more: int) -> Callable[[list[Floats]], Floats]:
    """Return a statistic: throughput taken by the first router, less that by each of `more`."""

    def of(series: list[Floats]) -> Floats:
        none, one, most = (median(rates) for rates in series)
        return np.asarray((1 - one / none) - (1 - most / one) / more)

    return of


def small_cost_more(groups: list[Group]) -> Result:
    """Test whether the first router takes a larger share of small frames' throughput."""
    rates = known(searches(pick(groups, engine=PLAIN)))
    found: dict[str, Effect] = {}
    for kind in {one.kind for one in rates if one.routers == 1}:
        needed = [
            Setting(n, kind if n else HOST, size, PLAIN)
            for size in (SMALLEST, LARGEST)
            for n in (0, 1)
        ]
        if all(each in rates for each in needed):
            found[kind] = estimate_of_few([rates[each] for each in needed], _takes_more_of_small)
    _, effect = weakest(found, f"throughput of no and one router, 64 and 1450 bytes, {OFTEN}")
    why = f"the first router takes more of 64 than of 1450 bytes by: {listed(found, _percent)}"
    return Result(effect.interval[0] > 0, why, effect, "share")


def _takes_more_of_small(series: list[Floats]) -> Floats:
    none_small, one_small, none_large, one_large = (median(rates) for rates in series)
    return np.asarray(one_large / none_large - one_small / none_small)


def shared_equally(groups: list[Group]) -> Result:
    """Test whether routers get equal shares of what is forwarded at the rates held."""
    return _fair(groups, EQUAL, "at a rate that is held", overloaded=False)


def losses_equal(groups: list[Group]) -> Result:
    """Test whether routers get almost equal shares where more is offered than they forward."""
    what = f"that lost over {OVERLOADED:.0%} of their frames"
    return _fair(groups, NEARLY_EQUAL, what, overloaded=True)


def _fair(groups: list[Group], enough: float, what: str, *, overloaded: bool) -> Result:
    tries: dict[str, list[Burst]] = {
        one.label: bursts(found, overloaded=overloaded) for one, found in searches(groups).items()
    }
    found = {label: fairness(each) for label, each in tries.items() if len(each) >= SEARCHES}
    worst, effect = weakest(found, f"{SEARCHES} bursts over the same routers {what}")
    shares = [share for burst in tries[worst] for share in lost_shares(burst.flows)]
    why = (
        f"{sum(len(tries[label]) for label in found)} bursts in {len(found)} settings; least fair: "
        f"{worst}, Jain's index {effect.value:.4f}, routers lost {min(shares):.2%} to "
        f"{max(shares):.2%}"
    )
    return Result(within(found.values(), least=enough), why, effect, "index")


def engine_costs_little(groups: list[Group]) -> Result:
    """Test whether the engine, with no conditions, costs at most `ABOUT_A_TENTH` of throughput."""
    return _costs(groups, PLAIN, CARRIED)


def delaying_costs_little(groups: list[Group]) -> Result:
    """Test whether delaying every frame for 0.5 ms costs at most another `ABOUT_A_TENTH`."""
    return _costs(groups, CARRIED, DELAYED)


def _costs(groups: list[Group], without: str, configured: str) -> Result:
    rates = known(searches(groups))
    found = {
        f"{one.routers} × {one.kind}, {one.size} bytes": ratio(rates[other], rates[one])
        for one in rates
        if one.engine == without and (other := replace(one, engine=configured)) in rates
    }
    _, effect = weakest(found, f"throughput over links {without} and {configured}, {OFTEN}")
    change = Effect(effect.value - 1, (effect.interval[0] - 1, effect.interval[1] - 1))
    why = f"change of the throughput: {listed(found, lambda times: _percent(times - 1))}"
    return Result(within(found.values(), least=1 - ABOUT_A_TENTH), why, change, "share")


def _percent(share: float) -> str:
    return f"{share:+.1%}"


CLAIMS = {
    claim.id: claim
    for claim in (
        Claim(
            "first-router-costs-most",
            "Throughput drops with the first virtual router, then gradually (figure 8).",
            B,
            falls,
            effect="share of throughput: taken by the first router − by each further one, "
            "where least",
        ),
        Claim(
            "small-frames-cost-more",
            "Small frames lose more: the cost per packet dominates (figure 8).",
            B,
            small_cost_more,
            effect="share of throughput taken by the first router: of 64 − of 1450 bytes, "
            "where least",
        ),
        Claim(
            "capacity-shared-equally",
            "The routing capacity is split equally among the routers (figure 8).",
            B,
            shared_equally,
            effect="Jain's index of what arrives over each router, where least",
        ),
        Claim(
            "losses-shared-equally",
            "Under overload losses are split almost equally between the routers.",
            B,
            losses_equal,
            effect="Jain's index of what arrives over each router when frames are lost, where "
            "least",
        ),
        Claim(
            "engine-costs-little",
            "Emulation without conditions costs about 10 % of the throughput (figure 11).",
            C,
            engine_costs_little,
            effect="change of throughput by the link engine, where least",
        ),
        Claim(
            "delaying-costs-little",
            "Delaying each packet for 0.5 ms costs about another 10 % (figure 12).",
            C,
            delaying_costs_little,
            effect="change of throughput by a delay of 0.5 ms, where least",
        ),
    )
}
