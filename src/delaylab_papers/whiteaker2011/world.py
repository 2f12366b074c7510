"""Trials of whiteaker2011 as its table 1 would have them, or a world with another truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from delaylab_study.papers.toolkit import Design, Floats, Group, Random, imagined, lognormal

from .published import TABLE

WIRE_US = 200.0
NETWORK = "network"
JUDGED = ("rest", "turns", "random")
"""Levels of the study whose probe has `clean`."""
OF_TURNS, UNDER_LOAD = 200, 120
"""Packets of 5 s on and 5 s off, and those of them under load: three fifths of the schedule are."""
NEXT_US = 150.0
"""The delay that CPU and I/O load add to Xen's median."""
STANDS_FOR = {"lxc": "netns", "docker": "netns", "qemu": "xen"}
"""Kinds that the paper did not have, and the kinds whose numbers are taken for them."""


@dataclass(frozen=True)
class Truth:
    """The truth of an imagined world; as it stands, what the paper says.

    `network`: strength of network load's effect. `size`, `kernel_size`: the delays under network
    load in user space, and in the kernel, are multiplied by this. `kernel`: median ΔKern ÷ ΔUser is
    multiplied by this. `beyond`: share of packets under other loads with a ΔKern of 200 µs more.
    `sending`: share of sending in the delay. `slow_receipts`: share of slow receipts. `vserver`,
    `container`: VServer's and OpenVZ's delays are multiplied by this. `guests`: the same with four
    stressed guests. `between`: share of Xen's RTTs between its two classes. `slow_class`: share
    above 10 ms under CPU and I/O load. `next`: strength of CPU and I/O load's effect on Xen's other
    RTTs. `openvz`: share of Xen's additional delay that OpenVZ has. `steady`: share of the kernel's
    delay under network load that never varies. `leak`: share of the load's effect on the median
    that clean packets have.
    """

    network: float = 1.0
    size: float = 1.0
    kernel_size: float = 1.0
    kernel: float = 1.0
    beyond: float = 0.0
    sending: float = 0.98
    slow_receipts: float = 0.0001
    vserver: float = 1.0
    container: float = 1.0
    guests: float = 1.0
    between: float = 0.05
    slow_class: float = 0.1
    next: float = 1.0
    openvz: float = 1.05
    steady: float = 0.0
    leak: float = 0.0


def drawn(truth: Truth, design: Design, random: Random) -> Group:
    """Return trials of a design, with delays that follow from table 1 and a truth."""
    kind, load = STANDS_FOR.get(design.kind, design.kind), design.load.split("+")[0]
    n = design.packets * design.trials
    on = np.ones(n, dtype=np.bool_)
    if load == "command":  # network load that pauses: study whiteaker2011-clean
        load, on = NETWORK, np.arange(n) % OF_TURNS < UNDER_LOAD
    kernel, user = _layers(truth, kind, load, n, random)
    if not on.all():
        kernel, user = _paused(truth, kind, (kernel, user), on, random)
    if design.levels.get("stress", "").endswith("-all"):
        kernel, user = kernel * truth.guests, user * truth.guests
    wire = np.full(n, WIRE_US)
    stack = wire + kernel
    slices = kind == "xen" and load != NETWORK
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
    judged = design.levels.get("load") in JUDGED and design.load in ("command", "rest")
    clean = ~on if design.load == "command" else np.ones(n, dtype=np.bool_)
    return imagined(design, delays, clean=clean if judged else None)


def _paused(
    truth: Truth, kind: str, loaded: tuple[Floats, Floats], on: NDArray[np.bool_], random: Random
) -> tuple[Floats, Floats]:
    """Return ΔKern and ΔUser under a load that is on for some packets."""
    rest = _layers(truth, kind, "rest", len(on), random)
    kernel, user = (np.where(on, busy, calm) for busy, calm in zip(loaded, rest, strict=True))
    leaked = truth.leak * (np.median(kernel + user) - np.median(rest[0] + rest[1]))
    return kernel, np.where(on, user, user + leaked)


def _layers(truth: Truth, kind: str, load: str, n: int, random: Random) -> tuple[Floats, Floats]:
    """Return ΔKern and ΔUser in µs."""
    if kind == "netns" and load == NETWORK:
        return _openvz(truth, n, random)
    of = "shared" if kind == "netns" else kind
    kernel, user = _drawn(of, load, n, random)
    if load == NETWORK:
        rest = _drawn(of, "rest", n, random)
        kernel, user = (
            calm * (busy / calm) ** truth.network if truth.network >= 0 else calm / 2
            for busy, calm in zip((kernel, user), rest, strict=True)
        )
        fixed = truth.steady * np.median(kernel)
        kernel = fixed + (1 - truth.steady) * kernel
        kernel, user = kernel * truth.kernel_size, user * truth.size
    elif kind != "xen":
        kernel = np.where(random.random(n) < truth.beyond, kernel + 200, kernel)
    if kind in ("native", "shared"):
        kernel, user = kernel * truth.kernel, user / truth.kernel
    times = {"shared": truth.vserver, "netns": truth.vserver * truth.container}.get(kind, 1.0)
    return kernel * times, user * times


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
    more = NEXT_US * truth.next if load in ("cpu", "io") else 0.0
    app = lognormal(random, n, 700.0 + more, 950.0 + more)
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
