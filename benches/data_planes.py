"""Benchmark of what carries links between machines: VXLAN, plain Ethernet, and neither."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import polars as pl
from tests.doing.own_machine import within

from benches.across import lan_of, reached
from benches.frames import SHORT, discarding, generate
from benches.pair import FAR, NEAR, probe
from benches.section import Section
from delaylab.agent.wire.measuring import Counters
from delaylab.lab.attach import attach
from delaylab.lab.running import LiveLab
from delaylab_study.trial.frames import frame

NAMES = ("m1", "m2")
LINK = "wan"
BARE = "bare"
PLANES = {
    "none": "none: both hosts on one machine",
    "vxlan": "VXLAN",
    "ethernet": "plain Ethernet",
    BARE: "plain Ethernet that rewrites no MAC address",
}
ROUNDS = 3
FRAMES = 100_000
COUNT, INTERVAL_NS = 500, 2_000_000


def run() -> Section:
    """Measure all data planes in turn, in labs that are up side by side."""
    section = Section(
        "data_planes",
        "Links between machines: VXLAN and plain Ethernet",
        f"Two nodes on two hosts, whose link is carried within a machine or between two; the "
        f"machines are namespaces on this computer. {FRAMES:,} frames of 64 bytes as fast as they "
        f"leave one core; {COUNT} round trips of 56 bytes, a half of each (kernel to kernel: both "
        f"directions take the same way). {ROUNDS} rounds in turn; ratios and differences are "
        "medians of the rounds'. The last two rows are one LAN with the programs that rewrite MAC "
        "addresses of multicast, and without: their ratio compares with the 15 % of ebtables in "
        "vem2006 (section III A).",
        ("data plane", "frames/s", "× none", "lost", "one way, µs", "beside none, µs"),
    )
    with lan_of(NAMES) as machines:
        for plane in PLANES:
            machines.up(_lab(plane))
        rewrite_nothing(BARE)
        inside = [sys.executable, "-c", "from benches.data_planes import measure; measure()"]
        done = subprocess.run(
            [*within(machines.user), *inside],
            env=machines.environment,
            capture_output=True,
            text=True,
            check=True,
        )
    found: dict[str, list[tuple[float, float, float]]] = json.loads(done.stdout)
    for plane, rounds in found.items():
        rates, lost, delays = zip(*rounds, strict=True)
        pairs = list(zip(rounds, found["none"], strict=True))
        ratio = statistics.median(one[0] / none[0] for one, none in pairs)
        more = statistics.median(one[2] - none[2] for one, none in pairs)
        section.rows.append(
            (
                PLANES[plane],
                f"{statistics.median(rates):,.0f}",
                f"{ratio:.2f}",
                f"{100 * statistics.median(lost):.1f} %",
                f"{statistics.median(delays):.1f}",
                "–" if plane == "none" else f"{more:+.1f}",
            )
        )
    return section


def _lab(plane: str) -> str:
    two = plane != "none"
    carried = f"data_plane: {'ethernet' if plane == BARE else plane}\n" if two else ""
    other = NAMES[1] if two else NAMES[0]
    return (
        f"lab: {plane}\n{carried}{reached(NAMES)}"
        f"hosts: {{h1: {{machine: {NAMES[0]}}}, h2: {{machine: {other}}}}}\n"
        f"nodes: {{{NEAR}: {{host: h1}}, {FAR}: {{host: h2}}}}\n"
        f"links: [{{between: [{NEAR}, {FAR}], name: {LINK}}}]\n"
    )


def rewrite_nothing(lab: str) -> None:
    """Take the programs off the interfaces by which a lab's frames leave on the LAN, everywhere.

    Only multicast needs them.
    """
    taken = 0
    for process in _one_in_each_network():
        links = _told(process, "ip", "-json", "-details", "link", "show")
        for link in json.loads(links or "[]"):
            kind = link.get("linkinfo", {}).get("info_kind")
            if kind == "macvlan" and link.get("ifalias") == f"delaylab:{lab}":
                _told(process, "tc", "qdisc", "del", "dev", link["ifname"], "clsact")
                taken += 1
    if not taken:
        raise RuntimeError(f"lab {lab} has no interface on the LAN")


def _one_in_each_network() -> list[str]:
    """Return a process of each network namespace of this computer."""
    found: dict[str, str] = {}
    for place in Path("/proc").glob("[0-9]*/ns/net"):
        # A process may end meanwhile.
        with suppress(OSError):
            found.setdefault(str(place.readlink()), place.parts[2])
    return list(found.values())


def _told(process: str, *argv: str) -> str:
    done = subprocess.run(
        ["nsenter", f"--target={process}", "--net", *argv],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


def measure() -> None:
    """Measure the labs that are up; print each one's rounds: frames/s, the part lost, µs."""
    labs = {plane: attach(plane) for plane in PLANES}
    found: dict[str, list[tuple[float, float, float]]] = {plane: [] for plane in PLANES}
    for _ in range(ROUNDS):
        for plane, lab in labs.items():
            found[plane].append((*_flood(lab), _one_way_us(lab)))
    sys.stdout.write(json.dumps(found))


def _flood(lab: LiveLab) -> tuple[float, float]:
    """Return the frames/s that left, and the part of them that did not arrive."""
    with discarding(lab):
        before = _arrived(lab)
        sent = generate(lab, [LINK], FRAMES, 0, SHORT)
        came = _arrived(lab) - before
    return sent.sent * 1e9 / (sent.ended_ns - sent.began_ns), 1 - came / sent.sent


def _arrived(lab: LiveLab) -> int:
    with closing(lab.node_session(FAR)) as session:
        done = session.call(Counters(), timeout=10).done
    return done.interfaces[lab.plan.attachment(FAR, LINK).device].rx_packets


def _one_way_us(lab: LiveLab) -> float:
    far = lab.plan.attachment(FAR, LINK).address
    result = probe(lab, far, count=COUNT, interval_ns=INTERVAL_NS)
    table = frame(result, "stamps").with_columns(pl.col("point").cast(pl.String))
    sent, came = (table.filter(leg=leg, point="stack") for leg in (0, 1))
    both = sent.join(came, on="seq", suffix="_reply")
    return float(np.median(both["time_ns_reply"] - both["time_ns"])) / 2e3
