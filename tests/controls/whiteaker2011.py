"""Controls of whiteaker2011's claims, drawn from its table 1."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from delaylab.analysis.group import Group
from delaylab.analysis.statistics.quantiles import Floats
from delaylab.papers.whiteaker2011.claims import CLAIMS
from delaylab.papers.whiteaker2011.published import CASES, TABLE
from tests.controls.control import World, controls
from tests.controls.world import Random, acting, group, lognormal

PACKETS = 200
WIRE_US = 200.0
ENVIRONMENTS = {"native": "linux", "shared": "vserver", "netns": "openvz", "xen": "xen"}


@dataclass(frozen=True)
class Truth:
    """Truth of a world; as it stands, what the paper says.

    `network`: strength of network load's effect. `kernel`: median ΔKern ÷ ΔUser is multiplied by
    this. `sending`: share of sending in the delay. `slow_receipts`: share of slow receipts.
    `between`: share of Xen's RTTs between its two classes. `slow_class`: share above 10 ms under
    CPU and I/O load. `openvz`: share of Xen's additional delay that OpenVZ has. `steady`: share of
    the kernel's delay under network load that never varies.
    """

    network: float = 1.0
    kernel: float = 1.0
    sending: float = 0.98
    slow_receipts: float = 0.005
    between: float = 0.05
    slow_class: float = 0.1
    openvz: float = 1.05
    steady: float = 0.0


def world(truth: Truth) -> World:
    """The trials of the study, with delays that follow from table 1 and a truth."""

    def draw(random: Random) -> list[Group]:
        return [_group(truth, kind, load, random) for kind in ENVIRONMENTS for load in CASES]

    return draw


def _group(truth: Truth, kind: str, load: str, random: Random) -> Group:
    kernel, user = _layers(truth, kind, load, random)
    wire = np.full(PACKETS, WIRE_US)
    stack = wire + kernel
    app = _xen_app(truth, load, random) if kind == "xen" and load != "network" else stack + user
    total = app - wire
    receiving = _receiving(truth, kind, total, random)
    delays = {
        "app": app,
        "stack": np.minimum(stack, app),
        "wire": wire,
        "sending": total - receiving,
        "receiving": receiving,
    }
    factors = {"environment": ENVIRONMENTS[kind], "load": load}
    return group(factors, kind=kind, delays=delays, loads=acting(load))


def _layers(truth: Truth, kind: str, load: str, random: Random) -> tuple[Floats, Floats]:
    """ΔKern and ΔUser in µs."""
    if kind == "netns" and load == "network":
        return _openvz(truth, random)
    of = "shared" if kind == "netns" else kind
    kernel, user = _drawn(of, load, random)
    if load == "network":
        rest = _drawn(of, "rest", random)
        kernel, user = (
            calm * (busy / calm) ** truth.network if truth.network >= 0 else calm / 2
            for busy, calm in zip((kernel, user), rest, strict=True)
        )
        fixed = truth.steady * np.median(kernel)
        kernel = fixed + (1 - truth.steady) * kernel
    if kind in ("native", "shared"):
        kernel, user = kernel * truth.kernel, user / truth.kernel
    return kernel, user


def _drawn(kind: str, load: str, random: Random) -> tuple[Floats, Floats]:
    row = TABLE[kind, load]
    terms = ("ΔKern",) if kind != "xen" else ("Δhost", "Δnode")
    kernel = sum(
        (_term(row.median[term], row.p99[term], random) for term in terms), np.zeros(PACKETS)
    )
    return kernel, _term(row.median["ΔUser"], row.p99["ΔUser"], random)


def _term(median_ms: float, p99_ms: float, random: Random) -> Floats:
    return lognormal(random, PACKETS, 1000 * median_ms, 1000 * p99_ms)


def _openvz(truth: Truth, random: Random) -> tuple[Floats, Floats]:
    """OpenVZ under network load: between VServer's kernel delay and Xen's."""
    xen, _ = _drawn("xen", "network", random)
    own, user = _drawn("shared", "network", random)
    additional = np.median(xen) - np.median(own)
    return own + truth.openvz * additional * xen / np.median(xen), user


def _xen_app(truth: Truth, load: str, random: Random) -> Floats:
    """Xen's user RTTs: mostly below 1 ms, some after a time slice of 10 ms or more."""
    slow = truth.slow_class if load in ("cpu", "io") else 0.02
    where = random.random(PACKETS)
    app = lognormal(random, PACKETS, 700.0, 950.0)
    app[where < slow] = 12_000 + 20_000 * random.random(int((where < slow).sum()))
    middle = where > 1 - truth.between
    app[middle] = 2000 + 6000 * random.random(int(middle.sum()))
    return app


def _receiving(truth: Truth, kind: str, total: Floats, random: Random) -> Floats:
    limit = 2000.0 if kind == "xen" else 300.0
    receiving = np.minimum((1 - truth.sending) * total, 0.9 * limit)
    if truth.sending < 0.9:
        receiving = (1 - truth.sending) * total
    slow = random.random(len(total)) < truth.slow_receipts
    receiving[slow] = 1.5 * limit
    return np.minimum(receiving, total)


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
)
