"""Controls of whiteaker2011's claims, drawn from its table 1."""

from __future__ import annotations

from dataclasses import replace

from delaylab_papers.whiteaker2011.claims import CLAIMS
from delaylab_papers.whiteaker2011.published import CASES
from delaylab_papers.whiteaker2011.world import Truth, drawn
from delaylab_study.analysis.claims.imagined import Design, Random
from delaylab_study.analysis.group import Group
from tests.controls.control import World, controls

PACKETS = 200
ENVIRONMENTS = {"native": "linux", "shared": "vserver", "netns": "openvz", "xen": "xen"}


def world(truth: Truth) -> World:
    """The trials of the study, with delays that follow from table 1 and a truth."""

    def draw(random: Random) -> list[Group]:
        return [
            drawn(truth, Design({"environment": name, "load": load}, kind, load, PACKETS), random)
            for kind, name in ENVIRONMENTS.items()
            for load in CASES
        ]

    return draw


PAPER = Truth()
_control = controls(CLAIMS, world, PAPER)
CONTROLS = (
    _control(
        "network-adds-most",
        replace(PAPER, network=0.0),
        replace(PAPER, network=-1.0),
        replace(PAPER, network=0.5),
        "reproduced",
    ),
    _control(
        "kernel-closer-than-user",
        replace(PAPER, kernel=5.0, network=0.0),
        replace(PAPER, kernel=10.0),
        replace(PAPER, kernel=2.0),
        "contradicted",
    ),
    _control(
        "sending-not-receiving",
        replace(PAPER, sending=0.5),
        replace(PAPER, sending=0.05),
        replace(PAPER, sending=0.75),
        "contradicted",
    ),
    _control(
        "receiving-small",
        replace(PAPER, slow_receipts=0.5),
        replace(PAPER, slow_receipts=0.9),
        replace(PAPER, slow_receipts=0.05),
        "open",
    ),
    _control(
        "xen-bimodal",
        replace(PAPER, between=0.7, slow_class=0.0),
        replace(PAPER, between=0.95, slow_class=0.0),
        replace(PAPER, between=0.45),
        "contradicted",
    ),
    _control(
        "virtual-interface-not-hypervisor",
        replace(PAPER, openvz=0.0),
        replace(PAPER, openvz=-0.03),
        replace(PAPER, openvz=0.25),
        "contradicted",
    ),
    _control(
        "minimum-helps",
        replace(PAPER, steady=0.9),
        replace(PAPER, steady=1.0),
        replace(PAPER, steady=0.7),
        "contradicted",
    ),
    _control(
        "monitoring-helps",
        replace(PAPER, monitor=0.5),
        replace(PAPER, monitor=0.0),
        replace(PAPER, monitor=0.75),
        "reproduced",
    ),
)
