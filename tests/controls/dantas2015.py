"""Controls of dantas2015's claims, drawn from its table II and the numbers in its text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from delaylab_papers.dantas2015.claims import CLAIMS
from delaylab_papers.dantas2015.world import Truth, drawn
from delaylab_study.analysis.claims.imagined import Design, Random
from delaylab_study.analysis.group import Group
from tests.controls.control import World, controls

PACKETS = {"1Hz": 100, "1000Hz": 400}
COUNTS = (0, 8, 64, 128)
LOADS = {"none": "rest", "cpu": "cpu", "io": "disk", "network": "network"}


def world(truth: Truth) -> World:
    """The trials of the study, with delays that follow from table II and a truth."""

    def draw(random: Random) -> list[Group]:
        return [drawn(truth, design, random) for design in _designs()]

    return draw


def _designs() -> Iterator[Design]:
    for count, load, place, driver, core, frequency in product(
        COUNTS,
        LOADS,
        ("sender", "receiver"),
        ("e1000", "virtio"),
        ("reserved", "shared"),
        PACKETS,
    ):
        if (count == 0) == (load == "none") and (count > 0 or place == "sender"):
            levels = {
                "vms": str(count),
                "load": load,
                "place": place,
                "driver": driver,
                "core": core,
                "frequency": frequency,
            }
            yield Design(levels, "qemu", LOADS[load], PACKETS[frequency])


PAPER = Truth()
_control = controls(CLAIMS, world, PAPER)
CONTROLS = (
    _control(
        "faster-probing-lower-rtt",
        replace(PAPER, fast=0.0),
        replace(PAPER, fast=-0.5),
        replace(PAPER, fast=0.5),
        "contradicted",
    ),
    _control(
        "reservation-without-load",
        replace(PAPER, reserving=0.7),
        replace(PAPER, reserving=1.5),
        replace(PAPER, reserving=0.96),
        "reproduced",
    ),
    _control(
        "cpu-load-grows-unless-reserved",
        replace(PAPER, cpu=0.0),
        replace(PAPER, cpu=-0.003, cpu_reserved=0.02),
        replace(PAPER, cpu=0.01),
        "reproduced",
    ),
    _control(
        "slow-probing-flat-under-cpu-load",
        replace(PAPER, cpu_slow=0.01),
        replace(PAPER, cpu_slow=0.02),
        replace(PAPER, cpu_slow=0.002),
        "open",
    ),
    _control(
        "receiver-cpu-load-milder",
        replace(PAPER, cpu_receiver=0.02, cpu_slow=0.02, cpu_reserved=0.02),
        replace(PAPER, cpu_receiver=0.04),
        replace(PAPER, cpu_receiver=0.01),
        "reproduced",
    ),
    _control(
        "network-load-hundredfold",
        replace(PAPER, network_ms=0.0, outliers=0.0),
        replace(PAPER, network_ms=0.1, outliers=0.0),
        replace(PAPER, network_ms=60.0),
        "reproduced",
    ),
    _control(
        "host-nic-unmoved",
        replace(PAPER, above=0.5),
        replace(PAPER, above=0.05),
        replace(PAPER, above=0.75),
        "contradicted",
    ),
    _control(
        "emulated-driver-lower-at-bridge",
        replace(PAPER, virtio_ms=20.0),
        replace(PAPER, virtio_ms=20.0, e1000_ms=120.0),
        replace(PAPER, virtio_ms=35.0),
        "contradicted",
    ),
    _control(
        "io-load-does-little",
        replace(PAPER, io=0.5),
        replace(PAPER, io=2.0),
        replace(PAPER, io=0.25),
        "reproduced",
    ),
    _control(
        "outliers-from-network-load",
        replace(PAPER, outliers=0.2),
        replace(PAPER, outliers=0.02),
        replace(PAPER, outliers=0.5),
        "open",
    ),
)
