"""Shares of Xen's domains in the CPU time that all of them used while the nodes worked."""

from __future__ import annotations

from collections.abc import Sequence

from delaylab_study.dataset.records.trial import TrialRecord

Shares = dict[str, float]
"""The share of each domain, by its name."""


def domain_shares(trial: TrialRecord) -> dict[str, Shares]:
    """Return the shares of the domains of each host in one trial, by the host's name."""
    hosts = dict.fromkeys(each.host for each in trial.domains)
    return {host: shares for host in hosts if (shares := _of_host(trial, host))}


def mean_shares(trials: Sequence[TrialRecord]) -> dict[str, Shares]:
    """Return the means over trials of the shares of the domains of each host."""
    found: dict[str, dict[str, list[float]]] = {}
    for trial in trials:
        for host, shares in domain_shares(trial).items():
            for name, share in shares.items():
                found.setdefault(host, {}).setdefault(name, []).append(share)
    return {
        host: {name: sum(each) / len(each) for name, each in shares.items()}
        for host, shares in found.items()
    }


def _of_host(trial: TrialRecord, host: str) -> Shares:
    used = {each.domain: each.cpu_ns for each in trial.domains if each.host == host}
    total = sum(used.values())
    return {name: cpu_ns / total for name, cpu_ns in used.items()} if total else {}
