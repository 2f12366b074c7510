"""Controls of vem2006's claims on virtual routers: throughput and latency."""

from __future__ import annotations

from dataclasses import replace

from delaylab_papers.vem2006.routers import claims as router_claims
from delaylab_papers.vem2006.routers import latency as latency_claims
from delaylab_papers.vem2006.routers.throughput import EACH_TAKES
from delaylab_papers.vem2006.routers.world import EACH_OF_LARGE, FIRST_OF_LARGE, Truth, drawn
from delaylab_study.analysis.group import Group
from tests.controls.control import World, as_run, of_sentences
from tests.controls.world import Random, with_summaries

CLAIMS = {**router_claims.CLAIMS, **latency_claims.CLAIMS}
STUDY = "vem2006-routers"
PAPER = Truth()
world = as_run(STUDY, drawn)
_control = of_sentences(CLAIMS, STUDY, drawn, PAPER)


def summarised_world(truth: Truth) -> World:
    """The same trials, with summaries of their RTTs, as tables and charts need them."""

    def draw(random: Random) -> list[Group]:
        return [with_summaries(group) for group in world(truth)(random)]

    return draw


def taken(small: float, large: float, each: float) -> Truth:
    """Return the truth in which the first router takes these shares, each further one `each`."""
    return replace(
        PAPER,
        first={"64": small, "1450": large},
        further={"64": each, "1450": each},
    )


CONTROLS = (
    _control(
        "first-router-costs-most",
        taken(0.05, 0.05, 0.05 * 1.2),
        "each further router takes 20 % more than the first",
        taken(0.02, 0.02, 0.1),
    ),
    _control(
        "small-frames-cost-more",
        taken(FIRST_OF_LARGE * 0.8, FIRST_OF_LARGE, EACH_OF_LARGE),
        "the first router takes 20 % less of small frames than of large ones",
        taken(0.2, 0.4, EACH_TAKES),
    ),
    _control(
        "capacity-shared-equally",
        replace(PAPER, greedy=0.075),
        "one router of ten gets 7 % more than the mean, where 5 % is equal",
        replace(PAPER, greedy=0.6),
    ),
    _control(
        "capacity-shared-with-emulation",
        replace(PAPER, greedy=0.075),
        "one router of ten gets 7 % more than the mean, where 5 % is equal",
        replace(PAPER, greedy=0.6),
    ),
    _control(
        "losses-shared-equally",
        replace(PAPER, greedy=0.07),
        "one router of ten loses 13 % less than the mean, where 10 % is almost equal",
        replace(PAPER, spared=0.5),
    ),
    _control(
        "engine-costs-little",
        replace(PAPER, carried=0.84),
        "the engine costs one router 16 %, where around 10 % is up to 15 %",
        replace(PAPER, carried=0.5, carried_by_ten=0.5),
        scale="paper",
    ),
    _control(
        "delaying-costs-little",
        replace(PAPER, delayed=0.97),
        "a delay costs 3 %, where in the order of 10 % is at least 5 %",
        replace(PAPER, delayed=0.5),
        scale="paper",
    ),
    _control(
        "limits-cost-nothing",
        replace(PAPER, limited=0.94),
        "limits cost 6 %, where up to 5 % is nothing measurable",
        replace(PAPER, limited=0.5),
    ),
    _control(
        "one-cpu-for-all-costs",
        replace(PAPER, together=0.88),
        "one CPU for all costs 12 %, where more than 15 % is dramatic",
        replace(PAPER, together=1.3),
        scale="paper",
    ),
    _control(
        "ten-routers-60-percent",
        replace(PAPER, ten=0.6 * 1.2),
        "ten routers forward 20 % more than 60 %",
        replace(PAPER, ten=0.1),
        scale="paper",
    ),
    _control(
        "overload-lowers-throughput",
        replace(PAPER, overload=(0.72, 0.42)),
        "a router forwards 20 % more than 60 and 35 % of its throughput",
        replace(PAPER, overload=(1.0, 1.0)),
    ),
    _control(
        "latency-flat-at-rest",
        replace(PAPER, rest_us=1.75),
        "ten routers take 30 % more than one, where 25 % is more or less constant",
        replace(PAPER, rest_us=20.0),
    ),
    _control(
        "large-latency-flat-under-load",
        replace(PAPER, large_further_us=8.5),
        "ten routers take 31 % more than one, where 25 % is more or less unchanged",
        replace(PAPER, large_further_us=40.0),
    ),
    _control(
        "latency-same-over-each",
        replace(PAPER, last_us=38.0),
        "over the last of ten it takes 13 to 63 % more, where 10 % is the same",
        replace(PAPER, last_us=-45.0),
    ),
    _control(
        "first-router-adds-latency",
        replace(PAPER, first_us=10.0, further_us=12.0, large_further_us=12.0),
        "each further router adds 20 % more than the first",
        replace(PAPER, first_us=5.0, further_us=20.0, large_further_us=20.0),
    ),
    _control(
        "delayed-over-routers",
        replace(PAPER, asked_us=1084.0),
        "delays add 84 µs beyond themselves, where 70 µs is what the paper's add",
        replace(PAPER, asked_us=500.0),
    ),
)
