"""Trials as the paper's numbers would have them: `run --dry-run` says by them what to expect."""

from delaylab_study.papers.toolkit import Design, Group, Random, imagined, lognormal

from .published import MEDIAN_RTT_US


def as_published(design: Design, random: Random) -> Group:
    """Return trials of a design, with the paper's median RTTs, 60 % of them in the kernel."""
    median_us = MEDIAN_RTT_US[design.levels["stack"], design.levels["load"]]
    user = lognormal(random, design.packets * design.trials, median_us)
    return imagined(design, {"app": user, "stack": 0.6 * user})
