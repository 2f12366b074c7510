"""CPU time of Xen's domains while nodes work, by the account of their hypervisor.

The driver domain, Domain-0, carries the packets of all others and is charged to none of them.
"""

from __future__ import annotations

import re

from delaylab.api.agents import Exec
from delaylab.api.errors import DelaylabError
from delaylab.api.names import host_agent, machine_agent
from delaylab.api.running import LiveLab
from delaylab_study.dataset.records.work import DomainTime
from delaylab_study.work.jobs import last_line

_LIST = ("sh", "-c", "PATH=/lib/delaylab/xen:$PATH; exec xl list")
"""xl says the CPU time of each domain in tenths of a second (xl(1), `list`)."""
_DOMAIN = re.compile(rb"^(\S+)\s+\d+\s+\d+\s+\d+\s+\S+\s+(\d{1,9}\.\d)\s*$", re.MULTILINE)
_ANSWER_S = 60.0
_NS = 10**9
Times = dict[tuple[str, str], float]
"""The CPU time of each domain in s, by its host and its name."""


def times_s(lab: LiveLab) -> Times:
    """Return the CPU time so far of all domains on hosts that have Xen nodes; {} if none has.

    Raises DelaylabError if a hypervisor does not tell.
    """
    hosts = dict.fromkeys(node.host for node in lab.plan.nodes.values() if node.kind == "xen")
    return {(host, name): time_s for host in hosts for name, time_s in _listed(lab, host).items()}


def used(before: Times, after: Times) -> list[DomainTime]:
    """Return what each domain used between two moments; none for one that came or went between."""
    return [
        DomainTime(host=host, domain=name, cpu_ns=round((after[host, name] - time_s) * _NS))
        for (host, name), time_s in before.items()
        if after.get((host, name), -1.0) >= time_s
    ]


def parsed(said: bytes) -> dict[str, float]:
    """Return the CPU time of each domain in s, by its name, from the output of `xl list`."""
    return {name.decode(errors="replace"): float(time_s) for name, time_s in _DOMAIN.findall(said)}


def _listed(lab: LiveLab, host: str) -> dict[str, float]:
    """Ask the machine that runs Xen for a host: a virtual one, or this machine as its dom0."""
    nested = machine_agent(host)
    session = lab.session(nested if nested in lab.keeper.agents else host_agent(host))
    try:
        result = session.call(Exec(argv=list(_LIST)), _ANSWER_S)
    finally:
        session.close()
    found = parsed(result.stdout)
    if result.done.exit != 0 or not found:
        raise DelaylabError(f"Xen of host {host!r} does not list its domains: {last_line(result)}")
    return found
