"""Tests of the claims of dantas2015.

The paper is "KVM Virtualization Impact on Active Round-Trip Time Measurements" (Dantas, Sadok,
Flinta, Johnsson; IFIP/IEEE IM 2015). Factors are those of `studies/dantas2015.yaml`. The paper
gives sentences, not thresholds; the thresholds are this project's.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from delaylab.analysis.claims.claim import Claim, NotTestable, Result, samples
from delaylab.analysis.claims.groups import (
    EACH_ENOUGH,
    by_vms,
    furthest,
    in_words,
    label,
    largest,
    matched,
    pick,
    vms,
    weakest,
)
from delaylab.analysis.group import Group
from delaylab.analysis.statistics.compare import Comparison, certainty, compare, family
from delaylab.analysis.statistics.effects import Effect, estimate
from delaylab.analysis.statistics.quantiles import Floats

PAPER = "dantas2015"
SLOW, FAST = "1Hz", "1000Hz"
# "no impact": medians at most this share apart. The paper's own are 1 % to 11 % apart.
NO_IMPACT = 0.15
# "limited impact": at most this share.
LIMITED = 0.25
# "unless a core is reserved": reserving takes away at least this share of the growth.
TAKEN_AWAY = 0.5
HUNDREDFOLD = 100.0
# "little or no increase" at the host's NIC: at least this share of the growth lies above it.
ABOVE_NIC = 0.8
OUTLIER_US = 100_000.0
MAINLY = 0.9


def faster_probing(groups: list[Group]) -> Result:
    """Test whether, without load, the median RTT at 1000 Hz is below that at 1 Hz.

    The claim must hold for every driver and core.
    """
    both = matched(pick(groups, vms="0"), "frequency", (SLOW, FAST))
    found: dict[str, Comparison] = {}
    for slow, fast in zip(both[SLOW], both[FAST], strict=True):
        ours, theirs = samples(slow, "app"), samples(fast, "app")
        if ours is not None and theirs is not None:
            found[label(slow, "driver", "core")] = compare(ours, theirs)
    words = [
        f"{name}: {in_words(each.medians[0])} at 1 Hz, {in_words(each.medians[1])} at 1000 Hz "
        f"({each.medians[1] / each.medians[0]:.0%}); {certainty(each)}"
        for name, each in family(found).items()
    ]
    effects = {name: each.shift for name, each in found.items()}
    needs = f"trials without load at 1 Hz and at 1000 Hz, {EACH_ENOUGH}"
    _, least = weakest(effects, needs)
    return Result(least.interval[0] > 0, "; ".join(words), least, "µs")


def reservation_without_load(groups: list[Group]) -> Result:
    """Test whether, without load, reserving a core moves the median RTT by at most `NO_IMPACT`."""
    both = matched(pick(groups, vms="0"), "core", ("reserved", "shared"))
    effects: dict[str, Effect] = {}
    words: list[str] = []
    for reserved, shared in zip(both["reserved"], both["shared"], strict=True):
        ours, theirs = samples(reserved, "app"), samples(shared, "app")
        if ours is None or theirs is None:
            continue
        name = label(shared, "driver", "frequency")
        effects[name] = estimate([ours, theirs], _relative)
        words.append(f"{name}: {_median(ours)} reserved, {_median(theirs)} shared")
    worst = effects[furthest(effects, "needs trials without load, reserved and shared")]
    return Result(largest(worst) <= NO_IMPACT, "; ".join(words), worst, "share")


def cpu_load(groups: list[Group]) -> Result:
    """Test whether the RTT grows with the VMs under CPU load, and less with a core reserved.

    The load is at the sender, probed at 1000 Hz. Reserving a core must take away at least
    `TAKEN_AWAY` of the growth.
    """
    chosen = [g for g in _against_none(groups, "cpu", "sender") if _fast(g)]
    effects: dict[str, Effect] = {}
    words: list[str] = []
    grows = True
    for driver in dict.fromkeys(group.factors["driver"] for group in chosen):
        shared = _ends(pick(chosen, driver=driver, core="shared"))
        reserved = _ends(pick(chosen, driver=driver, core="reserved"))
        if shared is None or reserved is None:
            continue
        most, *ours = shared
        growth = estimate(ours[::-1], _growth)
        grows = grows and growth.interval[0] > 0
        effects[driver] = estimate([*ours, *reserved[1:]], _taken_away)
        words.append(
            f"{driver}, {most} VMs: shared {_median(ours[0])} to {_median(ours[1])}, "
            f"reserved {_median(reserved[1])} to {_median(reserved[2])}"
        )
    needs = "CPU load at the sender at 1000 Hz, and none, with a core reserved and without"
    _, least = weakest(effects, f"{needs}, {EACH_ENOUGH}")
    note = "" if grows else ". Without reservation it does not grow"
    note += ". The paper saw it from 8 VMs on, on a CPU of 8 threads"
    holds = grows and least.interval[0] >= TAKEN_AWAY
    return Result(holds, "; ".join(words) + note, least, "share")


def network_load(groups: list[Group]) -> Result:
    """Test whether some network load raises the median RTT a hundredfold, with either `core`."""
    effects: dict[str, Effect] = {}
    words: list[str] = []
    for core in ("reserved", "shared"):
        ratios: dict[str, Effect] = {}
        for group, rest in _beside_none(groups, "network"):
            ours, theirs = samples(group, "app"), samples(rest, "app")
            if group.factors["core"] == core and ours is not None and theirs is not None:
                ratios[_named(group)] = estimate([ours, theirs], _ratio)
        if ratios:
            name = max(ratios, key=lambda each: ratios[each].value)
            effects[core] = ratios[name]
            words.append(f"{core}: {ratios[name].value:.1f} times at most ({name})")
    if len(effects) < 2:
        raise NotTestable("needs trials with network load and without, reserved and shared")
    _, least = weakest(effects, EACH_ENOUGH)
    return Result(least.interval[0] >= HUNDREDFOLD, "; ".join(words), least, "times")


def host_nic(groups: list[Group]) -> Result:
    """Test whether at least `ABOVE_NIC` of the RTT's growth lies above the sender's host interface.

    Only network load at the sender with the most VMs counts, and only where the RTT grows.
    """
    effects: dict[str, Effect] = {}
    words: list[str] = []
    for group, rest in _beside_none(pick(groups, place="sender"), "network"):
        if vms(group) != _most(groups, "network"):
            continue
        found = [samples(each, name) for name in ("app", "uplink") for each in (group, rest)]
        known = [values for values in found if values is not None]
        if len(known) < 4:
            continue
        name = _named(group)
        if estimate(known[:2], _growth).interval[0] <= 0:
            continue
        effects[name] = estimate(known, _above)
        words.append(
            f"{name}: user RTT {_median(known[1])} to {_median(known[0])}, "
            f"at the host's NIC {_median(known[3])} to {_median(known[2])}"
        )
    needs = "network load at the sender that raises the RTT there, and the point uplink"
    _, least = weakest(effects, f"{needs}, {EACH_ENOUGH}")
    return Result(least.interval[0] >= ABOVE_NIC, "; ".join(words), least, "share")


def io_load(groups: list[Group]) -> Result:
    """Test whether I/O load, with any number of VMs, moves the median RTT by at most `LIMITED`."""
    effects: dict[str, Effect] = {}
    for group, rest in _beside_none(groups, "io"):
        ours, theirs = samples(group, "app"), samples(rest, "app")
        if ours is not None and theirs is not None:
            effects[_named(group)] = estimate([ours, theirs], _relative)
    name = furthest(effects, "needs trials with I/O load and without")
    why = f"furthest in {name} of {len(effects)} scenarios"
    return Result(largest(effects[name]) <= LIMITED, why, effects[name], "share")


def outliers(groups: list[Group]) -> Result:
    """Test whether at least `MAINLY` of the RTTs above 100 ms were under network load."""
    loads: dict[str, int] = {}
    flags: list[Floats] = []
    for group in groups:
        user = samples(group, "app")
        slow = 0 if user is None else int((user > OUTLIER_US).sum())
        load = group.factors.get("load", group.load)
        loads[load] = loads.get(load, 0) + slow
        flags.append(np.full(slow, float(load == "network")))
    found = np.concatenate(flags) if flags else np.zeros(0)
    if "network" not in loads or len(loads) < 2:
        raise NotTestable("needs trials with network load and with another load")
    if len(found) == 0:
        raise NotTestable("no RTT was above 100 ms here")
    effect = estimate([found], lambda s: np.asarray(s[0].mean(axis=-1)))
    counts = ", ".join(f"{load} {n}" for load, n in loads.items())
    most = max(vms(group) for group in groups)
    note = "" if most >= 64 else f". The paper's came with 64 and 128 VMs; here are at most {most}"
    return Result(effect.interval[0] >= MAINLY, f"above 100 ms: {counts}{note}", effect, "share")


CLAIMS = {
    claim.id: claim
    for claim in (
        Claim(
            "faster-probing-lower-rtt",
            "Without load, probing at 1000 Hz gives a lower RTT than at 1 Hz.",
            PAPER,
            faster_probing,
            effect="median user RTT: at 1 Hz − at 1000 Hz, where least",
        ),
        Claim(
            "reservation-without-load",
            "Without load, reserving a core has no impact.",
            PAPER,
            reservation_without_load,
            effect="change of the median user RTT by reserving a core, where furthest from 0",
        ),
        Claim(
            "cpu-load-grows-unless-reserved",
            "Under CPU load at 1000 Hz RTT grows with the VMs, unless a core is reserved.",
            PAPER,
            cpu_load,
            effect="share of the growth of the median user RTT that reserving takes away, "
            "where least",
        ),
        Claim(
            "network-load-hundredfold",
            "Network load raises RTT from below 1 ms to above 100 ms, reserved or not.",
            PAPER,
            network_load,
            effect="median user RTT: the largest under network load ÷ without load, where least",
        ),
        Claim(
            "host-nic-unmoved",
            "Under network load RTT at the sender's host NIC hardly grows: the delay is above it.",
            PAPER,
            host_nic,
            effect="share of the growth of the median RTT that lies above the host's NIC, "
            "where least",
        ),
        Claim(
            "io-load-does-little",
            "I/O load has limited impact on RTT.",
            PAPER,
            io_load,
            effect="change of the median user RTT by I/O load, where furthest from 0",
        ),
        Claim(
            "outliers-from-network-load",
            "RTTs above 100 ms come from network load.",
            PAPER,
            outliers,
            effect="share of user RTTs above 100 ms that were under network load",
        ),
    )
}


def _fast(group: Group) -> bool:
    return group.factors.get("frequency") == FAST


def _named(group: Group) -> str:
    return label(group, "vms", "place", "driver", "core", "frequency")


def _against_none(groups: list[Group], load: str, place: str) -> list[Group]:
    return [*pick(groups, vms="0"), *pick(groups, load=load, place=place)]


def _beside_none(groups: list[Group], load: str) -> Iterator[tuple[Group, Group]]:
    """Yield each group under a load with the matching group without background VMs."""
    alone = ("driver", "core", "frequency")
    none = {tuple(g.factors.get(f) for f in alone): g for g in pick(groups, vms="0")}
    for group in pick(groups, load=load):
        rest = none.get(tuple(group.factors.get(f) for f in alone))
        if rest is not None and vms(group) > 0:
            yield group, rest


def _most(groups: list[Group], load: str) -> int:
    return max((vms(group) for group in pick(groups, load=load)), default=0)


def _ends(groups: list[Group]) -> tuple[int, Floats, Floats] | None:
    """Return the largest number of VMs, the RTTs without VMs, and the RTTs with that number.

    Return None if either group is missing or has too few packets.
    """
    counted = by_vms(groups)
    if len(counted) < 2 or 0 not in counted:
        return None
    none, most = samples(counted[0], "app"), samples(counted[max(counted)], "app")
    return None if none is None or most is None else (max(counted), none, most)


def _medians(series: list[Floats]) -> list[Floats]:
    return [np.asarray(np.median(values, axis=-1)) for values in series]


def _growth(series: list[Floats]) -> Floats:
    loaded, none = _medians(series)
    return np.asarray(loaded - none)


def _relative(series: list[Floats]) -> Floats:
    ours, theirs = _medians(series)
    return np.asarray((ours - theirs) / theirs)


def _ratio(series: list[Floats]) -> Floats:
    ours, theirs = _medians(series)
    return np.asarray(ours / theirs)


def _taken_away(series: list[Floats]) -> Floats:
    none, most, reserved_none, reserved_most = _medians(series)
    return np.asarray(1 - (reserved_most - reserved_none) / (most - none))


def _above(series: list[Floats]) -> Floats:
    user, user_rest, nic, nic_rest = _medians(series)
    return np.asarray(1 - (nic - nic_rest) / (user - user_rest))


def _median(values: Floats) -> str:
    return in_words(float(np.median(values)))
