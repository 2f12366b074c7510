"""UDP frames at a fixed rate, one way, in an open loop: nobody answers them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from delaylab.lab import Lab
from delaylab.loads.meter import Meter, address_of, shared_link
from delaylab.loads.programs import START_DEADLINE_S, STOP_DEADLINE_S
from delaylab.loads.state import Achieved, Running
from delaylab.spec import CHECK_SEQUENCE, LoadSpec

DISCARD = 9
"""The port that RFC 863 set aside for what nobody reads."""
WITHOUT_END = (1 << 32) - 1
AS_A_PROBE = 1 << 30
"""No trial's probe has this number: taps for one do not stamp these frames."""


@contextmanager
def frames(lab: Lab, load: LoadSpec, state: Running) -> Iterator[None]:
    """Frames for the length of a block."""
    assert load.to is not None
    assert load.frames is not None
    link = shared_link(lab, load)
    near, far = (
        next(i for i in lab.plan.interfaces[node] if i.link == link) for node in (load.on, load.to)
    )
    flow = {
        "interface": near.name,
        "to_mac": lab.plan.mac(far.agent, far.name),
        "from": address_of(lab, load.on, link),
        "to": address_of(lab, load.to, link),
    }
    sender, meter = lab.node_session(load.on), Meter(lab, load.to, link)
    before = meter.read()
    sender.start(
        "generate",
        flows=[flow],
        probe=AS_A_PROBE,
        count=WITHOUT_END,
        interval_ns=0 if load.frames == "max" else round(1e9 / load.frames),
        size=load.size - CHECK_SEQUENCE,
        port=DISCARD,
    )
    sender.event(START_DEADLINE_S)
    state.sessions.append(sender)
    yield
    state.sessions.remove(sender)
    sender.stop()
    sent = sender.finish(STOP_DEADLINE_S).done
    sender.close()
    received = meter.wait_quiet().packets_received - before.packets_received
    seconds = max((sent["ended_ns"] - sent["began_ns"]) / 1e9, 1e-9)
    achieved = {
        "sent": sent["sent"],
        "refused": sent["refused"],
        "sent_per_s": sent["sent"] / seconds,
        "received": received,
        "received_per_s": received / seconds,
        "slip_p99_us": sent["slip"]["p99_ns"] / 1000,
    }
    state.achieved.append(Achieved(load, achieved))
