"""vem2006's claims on links, section IV C.

Delays are one way, from port to port; rates and losses are the receiver's counts.
"""

from __future__ import annotations

from delaylab_study.papers.toolkit import (
    ENOUGH,
    Claim,
    Criterion,
    Source,
    above,
    at_least,
    at_most,
    no_more_than,
)

from .delays import (
    AS_TRUE,
    EARLY_SHARE,
    STAMPS_US,
    added_under_load,
    earliest_at_rest,
    earliest_under_load,
)
from .rates import (
    LITTLE_RATE,
    NEAR_RATE,
    NO_EFFECT,
    RIGHT_LOSS,
    changed_by_delay,
    losses,
    missing_of_others,
    rates_achieved,
    slow_and_small,
)

LINKS = f"ten streams over routers, delayed, each with at least {ENOUGH} packets"
SHAPED = "a stream with a limited rate, one of four over routers"
CLAIMS = {
    claim.id: claim
    for claim in (
        Claim(
            "delayed-at-least-as-asked",
            "All packets are delayed for at least the configured time.",
            Source(
                "section IV C",
                "This means that in the resulting packet stream packets will be delayed for at "
                "least the desired amount but their observed delay will also include the "
                "forwarding latency through the emulated router.",
                "figures 16 and 17",
            ),
            (
                Criterion(
                    "one-way delay of the earliest packet at rest − the configured delay",
                    "µs",
                    at_least(-STAMPS_US),
                    earliest_at_rest,
                    f"{LINKS}, at rest",
                ),
                Criterion(
                    "the same under load, as a share of the configured delay",
                    "share",
                    at_least(-EARLY_SHARE),
                    earliest_under_load,
                    f"{LINKS}, under load",
                ),
            ),
            about=("link",),
        ),
        Claim(
            "delay-true-under-load",
            "Packets are delayed correctly also at the highest load.",
            Source(
                "section IV C",
                "From the above results we can conclude that NISTnet is able to implement "
                "correct delaying of packets even when the system is operating at its "
                "forwarding capacity.",
                "figure 16",
            ),
            (
                Criterion(
                    "error of the time that a delay adds to the mean kernel RTT at the highest "
                    "load ÷ the largest error by figure 16",
                    "times",
                    at_most(AS_TRUE),
                    added_under_load,
                    f"{LINKS}, at the highest load, and without a delay",
                ),
            ),
            about=("link",),
        ),
        Claim(
            "rate-close-to-asked",
            "The rate is rather close to the configured one.",
            Source(
                "section IV C",
                "The regulated rate is rather close to the requested rate with less accuracy for "
                "slower rates and smaller packets.",
                "figure 18",
            ),
            (
                Criterion(
                    "error of the rate received ÷ the largest error by figures 18 and 19",
                    "times",
                    at_most(NEAR_RATE),
                    rates_achieved,
                    SHAPED,
                ),
            ),
            about=("link",),
        ),
        Claim(
            "rate-less-true-for-slow-and-small",
            "Rates are less true when slow, and for small packets.",
            Source(
                "section IV C",
                "In our implementation a packet is always received if there is even one byte of "
                "budget available. Thus we have a tendency to exceed the requested rate for "
                "smaller rates.",
                "figure 18",
            ),
            (
                Criterion(
                    "additional error of the rate, slow or small",
                    "share",
                    above(0.01),
                    slow_and_small,
                    "a budget of bytes for 1 and 10 Mbit/s, with 64 and 1450 bytes",
                ),
            ),
            about=("link",),
        ),
        Claim(
            "delay-costs-no-rate",
            "Delay causes no noticeable drop of the rate.",
            Source(
                "section IV C",
                "In our experiments 10,000 pages were enough to avoid packet dropping and avoid "
                "any noticeable drop in the forwarding rate achieved when delaying even high "
                "rate flows.",
                "figure 19",
            ),
            (
                Criterion(
                    "change of the rate received by a delay",
                    "share",
                    at_least(-LITTLE_RATE),
                    changed_by_delay,
                    f"{SHAPED}, with a delay and without",
                ),
            ),
            about=("link",),
        ),
        Claim(
            "loss-as-asked",
            "The configured share is lost, with no effect on other streams.",
            Source(
                "section IV C",
                "… the right percentage of packets are dropped with zero effect on the traffic "
                "of the other streams.",
            ),
            (
                Criterion(
                    "share lost of what other streams keep ÷ configured share − 1",
                    "share",
                    no_more_than(RIGHT_LOSS),
                    losses,
                    "a stream with losses, one of four over routers",
                ),
                Criterion(
                    "share of the other streams' frames missing: with losses beside − without",
                    "share",
                    at_most(NO_EFFECT),
                    missing_of_others,
                    "streams beside one with losses, and without",
                ),
            ),
            about=("link",),
        ),
    )
}
