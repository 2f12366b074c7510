"""Controls of dantas2015's claims, drawn from its table II and the numbers in its text."""

from __future__ import annotations

from dataclasses import replace

from delaylab_papers.dantas2015.claims import CLAIMS
from delaylab_papers.dantas2015.world import Truth, drawn
from tests.controls.control import Only, of_sentences

ENDS = ("0", "8", "64", "128")
"""Numbers of background VMs of trials that only scale paper has: the first ones and the last."""
AT_ONCE: Only = (("place", ("sender",)), ("vms", ENDS))
PAPER = Truth()
_control = of_sentences(CLAIMS, "dantas2015", drawn, PAPER)
CONTROLS = (
    _control(
        "faster-probing-lower-rtt",
        replace(PAPER, fast=0.65),
        "at 1000 Hz the RTT is 57 to 60 % of that at 1 Hz, a fifth more than half",
        replace(PAPER, fast=-0.5),
        scale="paper",
        only=(("vms", ("0",)),),
    ),
    _control(
        "reservation-without-load",
        replace(PAPER, reserving=1.3),
        "a reserved core changes the RTT by 17 % and more, beyond the paper's 11 % by half",
        replace(PAPER, reserving=1.6),
        scale="paper",
        only=(("vms", ("0",)),),
    ),
    _control(
        "cpu-load-grows-unless-reserved",
        replace(PAPER, cpu=-0.001),
        "without reservation the RTT falls from 8 VMs on, by a twentieth of what it rises",
        replace(PAPER, cpu=-0.003, cpu_reserved=0.02),
        scale="paper",
        only=(*AT_ONCE, ("load", ("none", "cpu"))),
    ),
    _control(
        "slow-probing-flat-under-cpu-load",
        replace(PAPER, cpu_slow=0.0035),
        "the most VMs change the RTT at 1 Hz by over 30 %, where a quarter counts as nothing",
        replace(PAPER, cpu_slow=0.02),
        scale="paper",
        only=(*AT_ONCE, ("load", ("none", "cpu"))),
    ),
    _control(
        "receiver-cpu-load-milder",
        replace(PAPER, cpu_receiver=0.023),
        "load at the receiver raises the RTT by a fifth more than at the sender",
        replace(PAPER, cpu_receiver=0.04),
        scale="paper",
        only=(("vms", ENDS), ("load", ("none", "cpu"))),
    ),
    _control(
        "drivers-tolerate-cpu-load-alike",
        replace(PAPER, virtio_cpu=1.5),
        "CPU load raises the RTT by over 30 % more with virtio, where a quarter is alike",
        replace(PAPER, virtio_cpu=5.0),
        scale="paper",
        only=(*AT_ONCE, ("load", ("none", "cpu")), ("core", ("shared",))),
    ),
    _control(
        "network-load-hundredfold",
        replace(PAPER, network_ms=80.0, outliers=0.0),
        "network load adds 80 ms at most, a fifth less than 100",
        replace(PAPER, network_ms=0.1, outliers=0.0),
        scale="paper",
        only=(("vms", ENDS), ("load", ("none", "network"))),
    ),
    _control(
        "host-nic-unmoved",
        replace(PAPER, above=0.76),
        "24 % of the growth are at the host's NIC, a fifth more than counts as little",
        replace(PAPER, above=0.05),
        scale="paper",
        only=(*AT_ONCE, ("load", ("none", "network"))),
    ),
    _control(
        "emulated-driver-lower-at-bridge",
        replace(PAPER, e1000_ms=25.0),
        "e1000 ends at 25 ms, where the paper has less than 20",
        replace(PAPER, virtio_ms=20.0, e1000_ms=120.0),
        scale="paper",
        only=(*AT_ONCE, ("load", ("none", "network"))),
    ),
    _control(
        "io-load-does-little",
        replace(PAPER, io=0.5),
        "I/O load adds over 30 % to the RTT, where a quarter counts as nothing",
        replace(PAPER, io=2.0),
        scale="paper",
        only=(("vms", ENDS), ("load", ("none", "io"))),
    ),
    _control(
        "outliers-from-network-load",
        replace(PAPER, network_ms=60.0, outliers=0.4, many=0.4),
        "network load has 40 % of the outliers, a fifth less than half",
        replace(PAPER, network_ms=60.0, outliers=0.02, many=0.02),
        scale="paper",
        only=(("vms", ENDS),),
    ),
)
