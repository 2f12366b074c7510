"""UDP frames at a fixed rate, one way, in an open loop: nobody answers them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from delaylab.lab import Lab
from delaylab.loads.meter import Meter, address_of
from delaylab.loads.programs import START_DEADLINE_S, STOP_DEADLINE_S
from delaylab.loads.state import Achieved, Running
from delaylab.plan import Interface, Path, path
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
    arrivals: list[str | None] = [*load.over] if load.over else [None]
    paths = [path(lab.plan, lab.spec, load.on, load.to, over) for over in arrivals]
    sender = lab.node_session(load.on)
    meters = [Meter(lab, load.to, way.links[-1]) for way in paths]
    before = [meter.read() for meter in meters]
    sender.start(
        "generate",
        flows=[_flow(lab, way) for way in paths],
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
    arrived = [
        meter.wait_quiet().packets_received - reading.packets_received
        for meter, reading in zip(meters, before, strict=True)
    ]
    received = sum(arrived)
    seconds = max((sent["ended_ns"] - sent["began_ns"]) / 1e9, 1e-9)
    achieved = {
        "sent": sent["sent"],
        "refused": sent["refused"],
        "sent_per_s": sent["sent"] / seconds,
        "received": received,
        "received_per_s": received / seconds,
        "slip_p99_us": sent["slip"]["p99_ns"] / 1000,
    }
    if load.over:
        names = (way.links[-1] for way in paths)
        achieved |= {f"received over {n}": c for n, c in zip(names, arrived, strict=True)}
    state.achieved.append(Achieved(load, achieved))


def _flow(lab: Lab, way: Path) -> dict[str, str]:
    """The frames of one way, as the generator wants them: addressed to the first router's card."""
    near, far = (_card(lab, node, way.links[0]) for node in way.nodes[:2])
    return {
        "interface": near.name,
        "to_mac": lab.plan.mac(far.agent, far.name),
        "from": address_of(lab, way.nodes[0], way.links[0]),
        "to": address_of(lab, way.nodes[-1], way.links[-1]),
    }


def _card(lab: Lab, node: str, link: str) -> Interface:
    return next(i for i in lab.plan.interfaces[node] if i.link == link)
