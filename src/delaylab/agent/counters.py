"""Counters of a network namespace by their names; what an agent did not send is its error.

`label` names the agent.
"""

from __future__ import annotations

from delaylab.agent.failures import AgentError
from delaylab.agent.wire.measuring import CountersDone, InterfaceCounters


def of_interface(sent: CountersDone, name: str, label: str) -> InterfaceCounters:
    """Return the counters of an interface; raise AgentError if there are none."""
    if name not in sent.interfaces:
        raise AgentError(f"it sent no counters of interface {name!r}", label)
    return sent.interfaces[name]


def of_protocol(sent: CountersDone, name: str, label: str) -> dict[str, int]:
    """Return the counters of a protocol; raise AgentError if there are none."""
    found = sent.snmp.get(name)
    if not found:
        raise AgentError(f"it sent malformed counters of {name}", label)
    return found


def counter(sent: CountersDone, protocol: str, name: str, label: str) -> int:
    """Return one of a protocol's counters; raise AgentError if it is not there."""
    found = of_protocol(sent, protocol, label)
    if name not in found:
        raise AgentError(f"it sent no counter {name!r} of {protocol}", label)
    return found[name]
