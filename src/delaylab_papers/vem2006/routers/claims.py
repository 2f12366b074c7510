"""vem2006's claims on the throughput of virtual routers, sections IV B, IV C, VI A and VIII."""

from __future__ import annotations

from delaylab_study.papers.toolkit import (
    Claim,
    Criterion,
    Source,
    above,
    at_most,
    between,
    no_more_than,
)

from ..published import OVERLOADED
from .searches import APART, CARRIED, CLEARLY, DELAYED, LIMITED, MOST_LOST, PLAIN, SEARCHES
from .throughput import (
    ABOUT,
    OVERLOADS,
    SMALLEST,
    TEN,
    costs,
    first_takes_more,
    left_by_overload,
    more_of_small,
    of_plain_linux,
    share_of_capacity,
    share_of_losses,
    share_with_emulation,
)

B, C = "section IV B", "section IV C"
EQUAL, NEARLY_EQUAL = 0.05, 0.1
"""Limits for "split equally" and "split almost equally": how far the router furthest from the mean
may be from it. Both are ours, since the paper prints no number for one router: a twentieth is what
bars such as those of figure 8 still show, and almost is twice that."""
TENTH = (-0.15, -0.05)
"""Bounds of a change by "around 10%" or "in the order of 10%": nearer to 10 % than to nothing or to
20 %."""
NOTHING_MEASURABLE = 0.05
"""Limit for "unaffected" and "practically the same performance": where "around 10%" begins."""
DRAMATICALLY = -0.15
"""Limit for "dramatically": section III A calls a loss of 15 % "significant"."""
NEAR = 0.1
"""Margin of "about 60%": nearer to it than to 40 or to 80 %."""
COLLAPSE = 0.1
"""Margin of what is left under overload, ours: the two numbers of the paper are 25 points apart."""
OFTEN = f"in {SEARCHES} searches or more"
LOST = f"bursts over the same routers that lost at least {CLEARLY:.0%} of their frames, {OFTEN}"


def _collapsed(level: str) -> Criterion:
    """Return the criterion that a share of the rate held is left under an overload."""
    times, place = OVERLOADS[level]
    left = OVERLOADED[place] / OVERLOADED[0]
    return Criterion(
        f"frames received per second at {level.removesuffix('pct')} % of the rate held ÷ the rate "
        "held",
        "share",
        between(left - COLLAPSE, left + COLLAPSE),
        left_by_overload(level),
        f"{SEARCHES} trials of one router with a kernel of its own, whose generator sends at least "
        f"{times:.0%} of the rate held",
    )


CLAIMS = {
    claim.id: claim
    for claim in (
        Claim(
            "first-router-costs-most",
            "Throughput drops with the first virtual router, then gradually.",
            Source(
                B,
                "Performance of the system drops when we introduce the first virtual router. … "
                "As we increase the number of virtual routers, we observe a further reduction "
                "of the overall packet forwarding performance but this is rather gradual and "
                "not very large.",
                "figure 8",
            ),
            (
                Criterion(
                    "share of throughput: taken by the first router − by each further one",
                    "share",
                    above(0),
                    first_takes_more,
                    f"throughput of no, one and several routers, {OFTEN}",
                ),
            ),
            about=("forwarding",),
        ),
        Claim(
            "small-frames-cost-more",
            "Small frames lose more: the cost per packet dominates.",
            Source(
                B,
                "This degradation is significant for the smaller packet sizes while for larger "
                "packets the reduction in performance is smaller.",
                "figure 8",
            ),
            (
                Criterion(
                    "share of throughput taken by the first router: of 64 − of 1450 bytes",
                    "share",
                    above(0),
                    more_of_small,
                    f"throughput of no and one router, 64 and 1450 bytes, {OFTEN}",
                ),
            ),
            about=("forwarding",),
        ),
        Claim(
            "capacity-shared-equally",
            "The routing capacity is split equally among the routers.",
            Source(
                B,
                "In all cases we observe that the routing capacity of the system is split equally "
                "among all the virtual routers.",
                "figure 8",
            ),
            (
                Criterion(
                    "largest distance of a router's frames from the mean of all routers, when "
                    "frames are lost",
                    "share",
                    at_most(EQUAL),
                    share_of_capacity,
                    f"{LOST}, over plain links",
                ),
            ),
            about=("scheduling",),
        ),
        Claim(
            "capacity-shared-with-emulation",
            "With emulation, too, the forwarding capacity is split equally among the routers.",
            Source(
                C,
                "In all cases, forwarding capacity is split evenly across all virtual routers "
                "involved. … Still forwarding capacity is split equally among all virtual "
                "routers.",
                "figures 11 and 12",
            ),
            (
                Criterion(
                    "largest distance of a router's frames from the mean of all routers, when "
                    "frames are lost",
                    "share",
                    at_most(EQUAL),
                    share_with_emulation,
                    f"{LOST}, over links that the engine carries",
                ),
            ),
            about=("scheduling",),
        ),
        Claim(
            "losses-shared-equally",
            "Under overload losses are split almost equally between the routers.",
            Source(
                B,
                "Even in cases of overload, where the offered packet rate is more than the "
                "capacity of the system, the amount of packet loss is split almost equally "
                "between the virtual routers.",
            ),
            (
                Criterion(
                    "distance from the mean of the frames that a router loses, of the router "
                    "furthest from it",
                    "share",
                    at_most(NEARLY_EQUAL),
                    share_of_losses,
                    f"{LOST}, and at most {MOST_LOST:.0%}",
                ),
            ),
            about=("scheduling",),
        ),
        Claim(
            "engine-costs-little",
            "Emulation without conditions costs one router about 10 %, and ten practically none.",
            Source(
                C,
                "Still, this performance loss is around 10% for 64 byte packets and it slowly "
                "drops off as we add more virtual routers resulting in practically the same "
                "performance as without NISTnet for 10 virtual routers.",
                "figure 11",
            ),
            (
                Criterion(
                    "change of throughput of 64 bytes by the link engine, one router",
                    "share",
                    between(*TENTH),
                    costs(PLAIN, CARRIED, size=SMALLEST, routers=(1,)),
                    f"throughput of one router over links {PLAIN} and {CARRIED}, {OFTEN}",
                ),
                Criterion(
                    "change of throughput by the link engine, ten routers",
                    "share",
                    no_more_than(NOTHING_MEASURABLE),
                    costs(PLAIN, CARRIED, 0.0, routers=(TEN,)),
                    f"throughput of ten routers over links {PLAIN} and {CARRIED}, {OFTEN}",
                ),
            ),
            about=("link", "forwarding"),
        ),
        Claim(
            "delaying-costs-little",
            "Delaying each packet for 0.5 ms costs about another 10 %.",
            Source(
                C,
                "When operating with the .5 msec delay there is an additional loss of "
                "performance, again in the order of 10%.",
                "figure 12",
            ),
            (
                Criterion(
                    "change of throughput by a delay of 0.5 ms",
                    "share",
                    between(*TENTH),
                    costs(CARRIED, DELAYED),
                    f"throughput over links {CARRIED} and {DELAYED}, {OFTEN}",
                ),
            ),
            about=("link", "forwarding"),
        ),
        Claim(
            "limits-cost-nothing",
            "Limits of the rate that are never met cost no throughput.",
            Source(
                C,
                "Packet forwarding performance was unaffected showing that the rate limiting "
                "machinery does not incur any measurable overhead.",
            ),
            (
                Criterion(
                    "change of throughput by limits above it",
                    "share",
                    no_more_than(NOTHING_MEASURABLE),
                    costs(CARRIED, LIMITED, 0.0),
                    f"throughput over links {CARRIED} and {LIMITED}, {OFTEN}",
                ),
            ),
            about=("link",),
        ),
        Claim(
            "one-cpu-for-all-costs",
            "With engine and routers on one CPU throughput is far lower than on a CPU for each.",
            Source(
                B,
                "Having both xen0 and the virtual router run on the same CPU reduces performance "
                "dramatically.",
            ),
            (
                Criterion(
                    "change of throughput: engine and routers on one CPU, not on one for each",
                    "share",
                    at_most(DRAMATICALLY),
                    costs(APART, CARRIED, None),
                    f"throughput over links {CARRIED} and {APART}, {OFTEN}: three CPUs",
                ),
            ),
            about=("forwarding",),
        ),
        Claim(
            "ten-routers-60-percent",
            "Ten routers with emulation forward about 60 % of what plain Linux does.",
            Source(
                "section VIII",
                "… even with 10 virtual routers and network condition emulation for 1450 byte "
                "packets we can still achieve an aggregate packet forwarding rate of about 60% "
                "of the maximum forwarding rate that the physical node can achieve when running "
                "vanilla Linux.",
            ),
            (
                Criterion(
                    "throughput of 1450 bytes: ten routers, delayed by 0.5 ms ÷ plain Linux",
                    "share",
                    between(ABOUT - NEAR, ABOUT + NEAR),
                    of_plain_linux,
                    f"throughput of ten routers over links {DELAYED}, and of none, {OFTEN}",
                ),
            ),
            about=("link", "forwarding", "speed"),
        ),
        Claim(
            "overload-lowers-throughput",
            "A router that is offered more than its throughput forwards 60 and then 35 % of it.",
            Source(
                "section VI A",
                "Indeed, while we are able to achieve 100 Kpackets/second for 64 byte packets "
                "with a single virtual router, when the offered load is increased the "
                "achievable throughput is reduced to 60 Kpackets/second and then to 35 "
                "Kpackets/second as the offered load is increased further.",
            ),
            tuple(_collapsed(level) for level in OVERLOADS),
            about=("forwarding", "speed"),
        ),
    )
}
