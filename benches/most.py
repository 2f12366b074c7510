"""Benchmark of the load that one link carries: the most short frames, and the fastest TCP."""

from __future__ import annotations

import json

from benches.engine_lab import NODES_CPU, engine_lab, kept_to, link_names
from benches.frames import SHORT, generate, settled
from benches.pair import FAR, NEAR, run_in, said, start_in
from benches.undisturbed import Rounds, rounds
from delaylab.lab.links import link_engines
from delaylab.lab.running import LiveLab

FLOOD = 1_000_000


def most_frames(wanted: int, within_s: float, *, steer: bool) -> Rounds[float]:
    """Return the frames/s that leave a link which is sent as many frames as the generator can."""
    with kept_to(NODES_CPU), engine_lab([1_000_000], [NODES_CPU], steer=steer) as lab:
        return rounds(lambda: _flood(lab), wanted, within_s=within_s)


def most_tcp(wanted: int, seconds: int, within_s: float, *, steer: bool) -> Rounds[float]:
    """Return the bit/s of one TCP flow; sender and receiver run on any CPU."""
    with engine_lab([100_000], None, steer=steer) as lab:
        return rounds(lambda: _flow(lab, seconds), wanted, within_s=within_s)


def _flood(lab: LiveLab) -> float:
    link_engines.reports(lab, reset=True)
    generate(lab, link_names(1), FLOOD, 0, SHORT)
    (way,) = (each for each in settled(lab).directions if each.node == NEAR)
    assert way.first_out_ns is not None
    assert way.last_out_ns is not None
    return way.left.frames * 1e9 / (way.last_out_ns - way.first_out_ns)


def _flow(lab: LiveLab, seconds: int) -> float:
    far = lab.plan.nodes[FAR].attachments[0].address
    server = start_in(lab, FAR, "iperf3", "--server", "--one-off", "--forceflush")
    said(server.stdout, b"listening")
    done = run_in(lab, NEAR, "iperf3", "-c", far, "--json", "-t", str(seconds))
    server.wait()
    return float(json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"])
