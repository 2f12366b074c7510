"""Tests of the claims of oliveira2022.

The paper is "An experimental investigation of Round-Trip Time and virtualization" (de Oliveira
Filho, Freitas, do Carmo, Sadok, Kelner; Computer Communications, 2022). Factors are those of
`studies/oliveira2022.yaml`.

Virtualisation overhead is the RTT in user space less that at the sender's host interface, in ms or
as a share of the RTT. The paper gives sentences, not thresholds; the thresholds are this project's.
"""

from __future__ import annotations

import numpy as np

from delaylab.analysis.claims.claim import Claim, NotTestable, Result, samples
from delaylab.analysis.claims.groups import (
    EACH_ENOUGH,
    SHARE,
    by_vms,
    furthest,
    in_words,
    label,
    largest,
    matched,
    pick,
    pooled,
    series,
    vms,
    weakest,
)
from delaylab.analysis.group import Group
from delaylab.analysis.statistics.compare import Comparison, certainty, compare, compare_all, family
from delaylab.analysis.statistics.effects import Effect, estimate
from delaylab.analysis.statistics.quantiles import Floats

PAPER = "oliveira2022"
KVM = ("kvm-virtio", "kvm-vmxnet3", "kvm-e1000", "kvm-rtl8139")
CONTAINERS = ("lxc", "docker")
# "changes nothing": the overhead's share moves by at most this. The paper's own moved by 0.0013.
NOTHING = 0.05
# "about 0.01 ms": a container's median overhead is at most this, in µs.
SMALL_US = 50.0
# "does not matter": medians at most this share apart.
DOES_NOT_MATTER = 0.25
# "climbs": the median RTT with the most guests is at least this many times that with the fewest.
CLIMBS = 1.5


def virtio_lowest(groups: list[Group]) -> Result:
    """Test whether virtio's median RTT and share of overhead are lowest, scenarios matched."""
    return _extreme_driver(groups, "kvm-virtio", 1)


def rtl8139_highest(groups: list[Group]) -> Result:
    """Test whether rtl8139's median RTT and share of overhead are highest, scenarios matched."""
    return _extreme_driver(groups, "kvm-rtl8139", -1)


def affinity(groups: list[Group]) -> Result:
    """Test whether affinity moves the median share of overhead by at most `NOTHING`."""
    both = matched(groups, "affinity", ("on", "off"))
    on, off = pooled(both["on"], SHARE), pooled(both["off"], SHARE)
    if on is None or off is None:
        raise NotTestable("needs scenarios with affinity and alike without, and the point uplink")
    found = compare(on, off)
    why = (
        f"{len(both['on'])} scenarios: overhead {found.medians[0]:.1%} of the RTT with affinity, "
        f"{found.medians[1]:.1%} without; {certainty(found)}"
    )
    return Result(largest(found.shift) <= NOTHING, why, found.shift, "share")


def slow_probing(groups: list[Group]) -> Result:
    """Test whether QEMU's RTT at 1 pps has a higher median and spread than at higher rates.

    The claim must hold in every scenario.
    """
    found: dict[str, Comparison] = {}
    spreads: dict[str, float] = {}
    for rate in ("1kpps", "1Mpps"):
        both = matched(_kvm(groups), "rate", ("1pps", rate))
        for ours, theirs in zip(both["1pps"], both[rate], strict=True):
            slow, fast = samples(ours, "app"), samples(theirs, "app")
            if slow is None or fast is None:
                continue
            name = label(theirs, "environment", "vms", "load", "place", "affinity", "rate")
            found[name] = compare(slow, fast)
            spreads[name] = _spread(slow) / _spread(fast)
    effects = {name: each.shift for name, each in found.items()}
    name, _ = weakest(effects, f"QEMU at 1pps and alike at a higher rate, {EACH_ENOUGH}")
    least, each = effects[name], family(found)[name]
    why = (
        f"least of {len(found)} scenarios in {name}: {in_words(each.medians[0])} at 1pps, "
        f"{in_words(each.medians[1])} there, {certainty(each)}; "
        f"quartiles {min(spreads.values()):.1f} times as far apart, or more"
    )
    wider = all(spread > 1 for spread in spreads.values())
    return Result(least.interval[0] > 0 and wider, why, least, "µs")


def network_at_responder(groups: list[Group]) -> Result:
    """Test whether network load at the responder has the highest RTT and spread of all loads."""
    loaded = [g for g in _kvm(groups) if vms(g) > 0]
    theirs: dict[str, Floats] = {}
    for load in ("cpu", "io", "network"):
        for place in ("sender", "responder"):
            values = pooled(_alike(loaded, load, place), "app")
            if values is not None:
                theirs[f"{load} at the {place}"] = values
    ours = "network at the responder"
    if ours not in theirs or len(theirs) < 2:
        raise NotTestable("needs QEMU under network load at the responder, and under another load")
    found = compare_all(theirs, ours)
    effects = {name: _turned(each.shift) for name, each in found.items()}
    name, _ = weakest(effects, EACH_ENOUGH)
    widest = max(theirs, key=lambda each: _spread(theirs[each]))
    words = [f"{each}: {_median(values)}" for each, values in theirs.items()]
    why = f"{'; '.join(words)}; widest spread: {widest}; next is {name}, {certainty(found[name])}"
    return Result(effects[name].interval[0] > 0 and widest == ours, why, effects[name], "µs")


def lxc_climbs(groups: list[Group]) -> Result:
    """Test whether LXC's RTT climbs with the guests and Docker's does not.

    The trials are those at 1 Mpps under CPU load at the sender.
    """
    ratios: dict[str, Effect] = {}
    words: list[str] = []
    for kind in CONTAINERS:
        chosen = pick(groups, environment=kind, load="cpu", place="sender", rate="1Mpps")
        counted = by_vms([g for g in chosen if samples(g, "app") is not None])
        if len(counted) < 2:
            continue
        few, most = min(counted), max(counted)
        ends = [samples(counted[most], "app"), samples(counted[few], "app")]
        known = [values for values in ends if values is not None]
        ratios[kind] = estimate(known, _ratio)
        words.append(
            f"{kind}: {_median(known[1])} with {few} guests, {_median(known[0])} with {most}"
        )
    if len(ratios) < 2:
        needs = "needs LXC and Docker at 1Mpps under CPU load at the sender, with two numbers of"
        raise NotTestable(f"{needs} background guests")
    holds = ratios["lxc"].interval[0] >= CLIMBS > ratios["docker"].interval[1]
    return Result(holds, "; ".join(words), ratios["lxc"], "times")


def container_overhead(groups: list[Group]) -> Result:
    """Test whether the median overhead of containers is at most `SMALL_US`, but for LXC's climb."""
    effects: dict[str, Effect] = {}
    for group in groups:
        values = series(group, "overhead")
        if group.factors.get("environment") not in CONTAINERS or values is None or _climb(group):
            continue
        effects[group.label] = estimate([values], lambda s: np.asarray(np.median(s[0], axis=-1)))
    name = furthest(effects, "needs containers, and the point uplink")
    over = sum(effect.value > SMALL_US for effect in effects.values())
    why = f"above {SMALL_US:.0f} µs in {over} of {len(effects)} scenarios; largest in {name}"
    return Result(effects[name].interval[1] <= SMALL_US, why, effects[name], "µs")


def io_load(groups: list[Group]) -> Result:
    """Test whether I/O load moves the median RTT with QEMU by at most `DOES_NOT_MATTER`."""
    alone = ("environment", "affinity", "rate")
    none = {label(g, *alone): g for g in pick(_kvm(groups), vms="0")}
    effects: dict[str, Effect] = {}
    for group in (g for g in pick(_kvm(groups), load="io") if vms(g) > 0):
        rest = none.get(label(group, *alone))
        ours, theirs = samples(group, "app"), samples(rest, "app") if rest else None
        if ours is not None and theirs is not None:
            effects[group.label] = estimate([ours, theirs], lambda s: _ratio(s) - 1)
    name = furthest(effects, "needs QEMU under I/O load and without")
    why = f"furthest in {name} of {len(effects)} scenarios"
    return Result(largest(effects[name]) <= DOES_NOT_MATTER, why, effects[name], "share")


CLAIMS = {
    claim.id: claim
    for claim in (
        Claim(
            "virtio-lowest",
            "Of QEMU's network cards virtio has the lowest RTT and overhead.",
            PAPER,
            virtio_lowest,
            effect="median user RTT: the next card − virtio",
        ),
        Claim(
            "rtl8139-highest",
            "Of QEMU's network cards rtl8139 has the highest RTT and overhead.",
            PAPER,
            rtl8139_highest,
            effect="median user RTT: rtl8139 − the next card",
        ),
        Claim(
            "affinity-changes-nothing",
            "CPU affinity changes nothing.",
            PAPER,
            affinity,
            effect="change of the median share of overhead by affinity",
        ),
        Claim(
            "slow-probing-higher-and-wider",
            "1 pps gives a higher and wider RTT than 1 kpps and 1 Mpps.",
            PAPER,
            slow_probing,
            effect="median user RTT: at 1 pps − at a higher rate, where least",
        ),
        Claim(
            "network-at-responder-highest",
            "Network load at the responder gives the highest RTT and the widest spread.",
            PAPER,
            network_at_responder,
            effect="median user RTT: network load at the responder − the next load",
        ),
        Claim(
            "lxc-climbs-docker-does-not",
            "At 1 Mpps, CPU load at the sender: LXC's RTT climbs with the guests, Docker's not.",
            PAPER,
            lxc_climbs,
            effect="LXC's median user RTT: most guests ÷ fewest",
        ),
        Claim(
            "container-overhead-small",
            "Containers add about 0.01 ms, but for LXC at 1 Mpps under CPU load at the sender.",
            PAPER,
            container_overhead,
            effect="median overhead (user RTT − RTT at the host's interface), where largest",
        ),
        Claim(
            "io-load-does-not-matter",
            "I/O load does not matter for virtual machines.",
            PAPER,
            io_load,
            effect="change of the median user RTT by I/O load, where furthest from 0",
        ),
    )
}


def _extreme_driver(groups: list[Group], driver: str, sign: int) -> Result:
    """Test whether a driver is lowest (sign 1) or highest (-1) in RTT and in its overhead."""
    present = [kind for kind in KVM if pick(groups, environment=kind)]
    if driver not in present or len(present) < 2:
        here = ", ".join(present) or "none"
        raise NotTestable(f"needs {driver} and another of QEMU's cards; here: {here}")
    alike = matched(groups, "environment", present)
    words: list[str] = []
    leasts: dict[str, Effect] = {}
    for name in ("app", SHARE):
        values = {kind: pooled(alike[kind], name) for kind in present}
        known = {kind: delays for kind, delays in values.items() if delays is not None}
        if len(known) < len(present):
            what = "the point uplink" if name == SHARE else "answered packets"
            raise NotTestable(f"needs scenarios alike for {', '.join(present)}, and {what}")
        found = compare_all(known, driver)
        shifts = {kind: _signed(each.shift, sign) for kind, each in found.items()}
        next_, _ = weakest(shifts, EACH_ENOUGH)
        leasts[name] = shifts[next_]
        middles = ", ".join(
            f"{kind} {np.median(v):.1%}" if name == SHARE else f"{kind} {_median(v)}"
            for kind, v in known.items()
        )
        what = "overhead" if name == SHARE else "RTT"
        words.append(f"{what}: {middles}; next is {next_}, {certainty(found[next_])}")
    holds = all(least.interval[0] > 0 for least in leasts.values())
    why = f"{len(alike[driver])} scenarios alike. {'. '.join(words)}"
    return Result(holds, why, leasts["app"], "µs")


def _kvm(groups: list[Group]) -> list[Group]:
    return [g for g in groups if g.factors.get("environment") in KVM]


def _alike(groups: list[Group], load: str, place: str) -> list[Group]:
    """Return the groups under one load at one place, for which all loads have matching groups.

    Groups match if they have the same level of `environment`, `vms` and `rate`.
    """
    return [
        g
        for g in pick(groups, load=load, place=place)
        if all(
            any(
                other.factors["load"] == each
                and all(other.factors[f] == g.factors[f] for f in ("environment", "vms", "rate"))
                for other in groups
            )
            for each in ("cpu", "network")
        )
    ]


def _climb(group: Group) -> bool:
    return group.factors.get("environment") == "lxc" and (
        label(group, "load", "place", "rate") == "cpu, sender, 1Mpps"
    )


def _turned(effect: Effect) -> Effect:
    return Effect(-effect.value, (-effect.interval[1], -effect.interval[0]))


def _signed(effect: Effect, sign: int) -> Effect:
    return effect if sign > 0 else _turned(effect)


def _spread(values: Floats) -> float:
    low, high = np.quantile(values, (0.25, 0.75))
    return float(high - low)


def _ratio(both: list[Floats]) -> Floats:
    ours, theirs = (np.median(values, axis=-1) for values in both)
    return np.asarray(ours / theirs)


def _median(values: Floats) -> str:
    return in_words(float(np.median(values)))
