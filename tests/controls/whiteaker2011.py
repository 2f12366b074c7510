"""Controls of whiteaker2011's claims, drawn from its table 1."""

from __future__ import annotations

from dataclasses import replace

from delaylab_papers.whiteaker2011.claims import CLAIMS
from delaylab_papers.whiteaker2011.world import Truth, drawn
from tests.controls.control import of_sentences

PAPER = Truth()
_control = of_sentences(CLAIMS, "whiteaker2011", drawn, PAPER)
_clean = of_sentences(CLAIMS, "whiteaker2011-clean", drawn, PAPER)
_stress = of_sentences(CLAIMS, "whiteaker2011-stress", drawn, PAPER)
CONTROLS = (
    _control(
        "network-adds-most",
        false=replace(PAPER, network=0.06),
        by="network load adds a fifth less than memory load",
        opposite=replace(PAPER, network=-1.0),
    ),
    _control(
        "network-adds-up-to-100-ms",
        false=replace(PAPER, size=0.43),
        by="40 and 37 ms, a fifth below the least",
        opposite=replace(PAPER, size=0.05, kernel_size=0.05),
    ),
    _control(
        "cpu-and-io-add-next",
        false=replace(PAPER, next=-0.2),
        by="CPU and I/O load take a fifth of the effect away",
        opposite=replace(PAPER, next=-1.0),
    ),
    _control(
        "linux-kernel-sizes",
        false=replace(PAPER, beyond=0.03),
        by="3 % and more are beyond 134 µs, not 2.5 %",
        opposite=replace(PAPER, beyond=0.3, kernel_size=0.05),
    ),
    _control(
        "kernel-closer-than-user",
        false=replace(PAPER, kernel=6.5),
        by="ΔKern is 60 % of Linux's delay, not half",
        opposite=replace(PAPER, kernel=12.0),
    ),
    _control(
        "vserver-as-linux",
        false=replace(PAPER, vserver=1.5),
        by="3.8 times Linux's delay under network load, a fifth beyond the most",
        opposite=replace(PAPER, vserver=20.0),
    ),
    _control(
        "openvz-as-vserver",
        false=replace(PAPER, container=1.7),
        by="1.7 times VServer's delay, a fifth beyond the most",
        opposite=replace(PAPER, container=5.0),
    ),
    _stress(
        "stressed-guests-change-nothing",
        false=replace(PAPER, guests=1.7),
        by="1.7 times the delay with one, a fifth beyond the most",
        opposite=replace(PAPER, guests=5.0),
    ),
    _control(
        "sending-not-receiving",
        false=replace(PAPER, sending=0.64),
        by="sending is 64 % of the delay, not 80 %",
        opposite=replace(PAPER, sending=0.05),
    ),
    _control(
        "kernel-replies-as-bad",
        false=replace(PAPER, sending=0.88),
        by="12 % of the delay go, not 10 %",
        opposite=replace(PAPER, sending=0.05),
    ),
    _control(
        "receiving-small",
        false=replace(PAPER, slow_receipts=0.012),
        by="1.2 % of receipts are slow, not 1 %",
        opposite=replace(PAPER, slow_receipts=0.9),
    ),
    _control(
        "xen-bimodal",
        false=replace(PAPER, between=0.36),
        by="64 % of RTTs are in the two classes, not 80 %",
        opposite=replace(PAPER, between=0.95, slow_class=0.0),
    ),
    _control(
        "virtual-interface-not-hypervisor",
        false=replace(PAPER, openvz=0.4),
        by="OpenVZ has 40 % of the additional delay, not 50 %",
        opposite=replace(PAPER, openvz=-0.03),
    ),
    _control(
        "minimum-helps",
        false=replace(PAPER, steady=0.6),
        by="the minimum takes 39 % away, not 50 %",
        opposite=replace(PAPER, steady=1.0),
    ),
    _clean(
        "monitoring-helps",
        false=replace(PAPER, leak=0.24),
        by="the clean median has 24 % of the raw one's error, not 20 %",
        opposite=replace(PAPER, leak=1.0),
    ),
)
