"""Trials of whiteaker2011 as its table 1 would have them, or a world with another truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from delaylab_study.papers.toolkit import Design, Floats, Group, Random, imagined, lognormal

from .published import TABLE

WIRE_US = 200.0
STANDS_FOR = {"lxc": "netns", "docker": "netns", "qemu": "xen"}
"""Kinds that the paper did not have, and the kinds whose numbers are taken for them."""


@dataclass(frozen=True)
class Truth:
    """The truth of an imagined world; as it stands, what the paper says.

    `network`: strength of network load's effect. `kernel`: median ΔKern ÷ ΔUser is multiplied by
    this. `sending`: share of sending in the delay. `slow_receipts`: share of slow receipts.
    `between`: share of Xen's RTTs between its two classes. `slow_class`: share above 10 ms under
    CPU and I/O load. `openvz`: share of Xen's additional delay that OpenVZ has. `steady`: share of
    the kernel's delay under network load that never varies. `monitor`: share of the packets of
    which a monitor knows whether the machine was in use; it is wrong about the others.
    """

    network: float = 1.0
    kernel: float = 1.0
    sending: float = 0.98
    slow_receipts: float = 0.005
    between: float = 0.05
    slow_class: float = 0.1
    openvz: float = 1.05
    steady: float = 0.0
    monitor: float = 1.0


def drawn(truth: Truth, design: Design, random: Random) -> Group:
    """Return trials of a design, with delays that follow from table 1 and a truth."""
    kind, load = STANDS_FOR.get(design.kind, design.kind), design.load
    n = design.packets * design.trials
    kernel, user = _layers(truth, kind, load, n, random)
    wire = np.full(n, WIRE_US)
    stack = wire + kernel
    slices = kind == "xen" and load != "network"
    app = _xen_app(truth, load, n, random) if slices else stack + user
    total = app - wire
    receiving = _receiving(truth, kind, total, random)
    delays = {
        "app": app,
        "stack": np.minimum(stack, app),
        "wire": wire,
        "sending": total - receiving,
        "receiving": receiving,
    }
    wrong = random.random(n) >= truth.monitor
    return imagined(design, delays, in_use=(load != "rest") ^ wrong)


def _layers(truth: Truth, kind: str, load: str, n: int, random: Random) -> tuple[Floats, Floats]:
    """Return ΔKern and ΔUser in µs."""
    if kind == "netns" and load == "network":
        return _openvz(truth, n, random)
    of = "shared" if kind == "netns" else kind
    kernel, user = _drawn(of, load, n, random)
    if load == "network":
        rest = _drawn(of, "rest", n, random)
        kernel, user = (
            calm * (busy / calm) ** truth.network if truth.network >= 0 else calm / 2
            for busy, calm in zip((kernel, user), rest, strict=True)
        )
        fixed = truth.steady * np.median(kernel)
        kernel = fixed + (1 - truth.steady) * kernel
    if kind in ("native", "shared"):
        kernel, user = kernel * truth.kernel, user / truth.kernel
    return kernel, user


def _drawn(kind: str, load: str, n: int, random: Random) -> tuple[Floats, Floats]:
    row = TABLE[kind, load]
    terms = ("ΔKern",) if kind != "xen" else ("Δhost", "Δnode")
    kernel = sum((_term(row.median[term], row.p99[term], n, random) for term in terms), np.zeros(n))
    return kernel, _term(row.median["ΔUser"], row.p99["ΔUser"], n, random)


def _term(median_ms: float, p99_ms: float, n: int, random: Random) -> Floats:
    return lognormal(random, n, 1000 * median_ms, 1000 * p99_ms)


def _openvz(truth: Truth, n: int, random: Random) -> tuple[Floats, Floats]:
    """Return OpenVZ's delays under network load: between VServer's kernel delay and Xen's."""
    xen, _ = _drawn("xen", "network", n, random)
    own, user = _drawn("shared", "network", n, random)
    additional = np.median(xen) - np.median(own)
    return own + truth.openvz * additional * xen / np.median(xen), user


def _xen_app(truth: Truth, load: str, n: int, random: Random) -> Floats:
    """Return Xen's user RTTs: mostly below 1 ms, some after a time slice of 10 ms or more."""
    slow = truth.slow_class if load in ("cpu", "io") else 0.02
    where = random.random(n)
    app = lognormal(random, n, 700.0, 950.0)
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


def as_published(design: Design, random: Random) -> Group:
    """Return trials of a design, drawn from the paper's own numbers."""
    return drawn(Truth(), design, random)
