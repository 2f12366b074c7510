"""Mechanisms: which scenarios can decide a claim, by what its sentence is about.

A stand-in decides only what it shares with the original. A claim names the mechanisms that its
sentence is about, and each kind of node has some of them. Namespaces have no scheduler of their
own, so they decide nothing about how a hypervisor shares CPUs. Emulated virtual machines are
scheduled as real ones are, but their speed is an emulator's.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from delaylab.api.kinds import Mechanism, facts_of, mechanisms_of
from delaylab_study.analysis.claims.observed import ObservedScenario

LACKED: dict[Mechanism, str] = {
    "stack": "a protocol stack of their own",
    "link": "links",
    "protocol": "the protocol",
    "computation": "programs",
    "scheduling": "a scheduler that gives CPUs to whole systems",
    "forwarding": "a kernel of their own on hardware, with the cost of a frame's way into it",
    "card": "a network card that hardware runs",
    "clock": "a clock of their own on hardware",
    "speed": "the speed of hardware",
}
"""Description of nodes that have a mechanism, to follow `nodes with`."""
ON_HARDWARE = "; KVM, or Xen on the machine, runs them on hardware"


@dataclass(frozen=True, slots=True)
class Fitting:
    """The scenarios of a claim; those that cannot decide are aside, unless none can.

    `lacking` says what none of them has; "" if one decides.
    """

    scenarios: list[ObservedScenario]
    lacking: str = ""


def fitting(scenarios: Sequence[ObservedScenario], about: Collection[Mechanism]) -> Fitting:
    """Return the scenarios, with those aside whose nodes lack what a claim is about."""
    lacks = [_lacked(each, about) for each in scenarios]
    with_lacks = list(zip(scenarios, lacks, strict=True))
    counted = [lack for each, lack in with_lacks if not each.aside]
    if counted and all(counted):
        return Fitting(list(scenarios), _said(counted[0], scenarios))
    return Fitting([replace(each, aside=each.aside or bool(lack)) for each, lack in with_lacks])


def _lacked(scenario: ObservedScenario, about: Collection[Mechanism]) -> list[Mechanism]:
    """Return the mechanisms of `about` that one of a scenario's kinds lacks, in their order."""
    had = [mechanisms_of(kind, emulated=scenario.emulated) for kind in scenario.kinds]
    return [each for each in about if any(each not in mechanisms for mechanisms in had)]


def _said(lacked: Sequence[Mechanism], scenarios: Sequence[ObservedScenario]) -> str:
    """Return what is needed, and what was there instead, in words."""
    kinds = {
        kind: facts_of(kind).emulated and each.emulated
        for each in scenarios
        for kind in each.kinds
        if not each.aside
    }
    here = ", ".join(f"{kind} (emulated)" if emulated else kind for kind, emulated in kinds.items())
    remedy = ON_HARDWARE if any(kinds.values()) else ""
    return f"needs nodes with {LACKED[lacked[0]]}; here are {here}{remedy}"
