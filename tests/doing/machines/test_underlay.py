"""The network between machines as part of the delay of links: an underlay with a known delay.

Two namespaces with sshds stand for machines. What is between them is a lab of its own, whose nodes
are the ports of their LAN.
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from subprocess import STDOUT
from textwrap import indent

import pytest

from delaylab_study.analysis.links.fidelity import trial_links
from delaylab_study.dataset.store import read_study
from tests.command import delaylab
from tests.doing.machines.ssh_machines import MTU, NEEDED, Lan, lan
from tests.doing.own_machine import ip, network_of
from tests.waiting import PATIENCE_S, wait_until

pytestmark = NEEDED

UNDERLAY = f"""\
lab: underlay
nodes: {{user: {{interface: port0}}, m1: {{interface: port1}}, m2: {{interface: port2}}}}
links:
  - join: [user, m1, m2]
    name: between
    mtu: {MTU}
    from:
      m1: {{delay: 3ms, jitter: {{spread: 100us, distribution: uniform}}}}
      m2: {{delay: 3ms, jitter: {{spread: 100us, distribution: uniform}}}}
    addresses: {{user: 10.77.0.200/24, m1: 10.77.0.1/24, m2: 10.77.0.2/24}}
"""
LAB = """\
lab: apart
machines: {m1: {ssh: m1}, m2: {ssh: m2}}
hosts: {h1: {machine: m1}, h2: {machine: m2}, h3: {machine: m2}}
nodes: {a: {host: h1}, b: {host: h2}, c: {host: h3}}
links:
  - {between: [a, b], name: apart, delay: 200ms}
  - {between: [b, c], name: together, delay: 200ms}
"""
"""Delays far above what a busy machine adds to the network between machines."""


@pytest.fixture
def apart(run_directory: Path) -> Iterator[Lan]:
    """Two machines whose packets take 2.9 to 3.1 ms from one to the other."""
    with (
        tempfile.TemporaryDirectory(prefix="dlm-") as folder,
        lan(Path(folder), ["m1", "m2"]) as made,
    ):
        switch = f"{made.user}-lan"
        for number in range(3):
            ip("-n", switch, "link", "set", f"port{number}", "nomaster")
        file = Path(folder) / "underlay.yaml"
        file.write_text(UNDERLAY)
        between(made, "up", str(file))
        try:
            yield made
            made.delaylab("down", "--all")
            made.wait_until_gone()
        finally:
            between(made, "down", "--all")


def between(machines: Lan, *argv: str) -> None:
    """Call the command line in the namespace whose lab is the network between the machines."""
    network = network_of(f"{machines.user}-lan")
    environment = {**os.environ, "DELAYLAB_RUN": f"{machines.folder}/run"}
    done = delaylab(*argv, folder=machines.folder, environment=environment, network=network)
    assert done.code == 0, done.out + done.err


@pytest.mark.parametrize("data_plane", ["vxlan", pytest.param("ethernet", marks=pytest.mark.slow)])
def test_what_the_network_between_machines_takes_is_part_of_a_link_s_delay(
    apart: Lan, data_plane: str
) -> None:
    apart.up(f"{LAB}data_plane: {data_plane}\n")
    shown = apart.delaylab("link", "show", "--json").stdout
    below = {
        each["link"]: each.get("underlay")
        for engine in json.loads(shown)["engines"]
        for each in engine["directions"]
        if each["node"]
    }
    assert below["together"] is None
    underlay = below["apart"]
    assert underlay is not None
    assert 2.8e6 < underlay["delay_ns"] < 3.3e6, underlay
    # The link on one machine has the same delay in the same run. What the other one has more is
    # what a round trip of its underlay takes over the least one: up to 0.4 ms by its jitter, and
    # what a busy machine adds even to the fastest of 40. It adds to both links, and further pings
    # only lower the least round trip of either.
    late_ms = (underlay["p99_rtt_ns"] - underlay["least_rtt_ns"]) / 1e6
    least = {"a.apart": math.inf, "c.together": math.inf}
    for _ in range(5):
        least = {to: min(found, least_ms(apart, "b", to)) for to, found in least.items()}
        more_ms = least["a.apart"] - least["c.together"]
        if -0.1 < more_ms < 0.5 + late_ms:
            break
    else:
        pytest.fail(f"{least}, {underlay}")
    # What is subtracted stays what `up` measured; the network becomes 2 ms faster meanwhile.
    for node in ("m1", "m2"):
        between(apart, "link", "set", "underlay", "between", "delay=1ms", "--node", node)
    shown = json.loads(apart.delaylab("link", "show", "--json").stdout)
    (now,) = shown["underlays"]
    assert (now["machine"], now["other"], now["links"]) == ("m1", "m2", ["apart"])
    assert 1.8e6 < now["least_rtt_ns"] < 5e6, now
    said = apart.delaylab("link", "show").stdout
    assert re.search(
        r"apart from a: not held, because .*between machines m1 and m2 just now took [0-2]\.\d+ "
        r"ms one way, and \d+\.\d+ ms are subtracted, as measured by `up`",
        said,
    ), said
    assert re.search(
        r"between machines m1 and m2 just now: round trip [1-4]\.\d+ ms at least", said
    )
    assert "just now" not in apart.delaylab("link", "show", "apart", "together").stdout


@pytest.mark.slow
def test_a_link_that_is_shorter_than_the_network_between_its_machines_is_refused(
    apart: Lan,
) -> None:
    said = apart.up(LAB.replace("name: apart, delay: 200ms", "name: apart, delay: 2ms"), code=3)
    assert re.search(r"its delay of 2.000 ms is shorter than the network between .* takes", said)
    assert "give it a longer delay or none" in said
    apart.wait_until_gone()
    # One without a delay takes as long as the network between its machines.
    apart.up(LAB.replace("name: apart, delay: 200ms", "name: apart, loss: 0%"))
    assert least_ms(apart, "a", "b.apart") > 5.5


STUDY = f"""\
study: meanwhile
lab:
{indent(LAB.replace("b: {host: h2}", "b: {host: h2, forwards: true}"), "  ")}
repeat: 1
"""
WORK = "work: [{name: pings, on: a, command: [ping, -q, -c, '200', -i, '0.02', c]}]\n"
PROBE = "probe: {from: a, to: c, count: 600, interval: 10ms}\n"
NO_FOLDER = "ls: cannot access '/run/delaylab': No such file or directory\n"
CHANGED = ("delay=1ms", "loss=10%", "jitter=none")


def test_what_the_network_between_machines_does_during_a_trial_is_in_the_verdict(
    apart: Lan,
) -> None:
    """The network becomes 2 ms faster and loses packets once the lab is up."""
    (apart.folder / "study.yaml").write_text(STUDY + WORK)
    command = apart.command("run", "study.yaml", "--out", "out")
    with subprocess.Popen(
        command, cwd=apart.folder, env=apart.environment, stdout=subprocess.PIPE, stderr=STDOUT
    ) as run:

        def is_up() -> bool:
            """Return True once `up` has measured the network: it makes its folder after that."""
            assert run.poll() is None, run.communicate()
            return apart.on("m1", "ls", "-A", "/run/delaylab") not in ("", NO_FOLDER)

        wait_until(is_up)
        for node in ("m1", "m2"):
            between(apart, "link", "set", "underlay", "between", *CHANGED, "--node", node)
        said, _ = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 0, said
    (trial,) = read_study(apart.folder / "out").trials
    (measured,) = trial.underlays
    assert trial.hosts == {"h1": "m1", "h2": "m2", "h3": "m2"}
    assert measured.links == ["apart"]
    assert measured.hosts == ["h1", "h2", "h3"]
    # Each of two directions loses one packet in ten; some probes came before.
    assert 0.05 < measured.lost / measured.sent < 0.3
    assert measured.p1_rtt_ns is not None
    assert 2e6 <= measured.p1_rtt_ns < 5e6
    found = {
        (each.verdict.direction.link, each.verdict.direction.node): each.verdict
        for each in trial_links(trial)
    }
    for node in ("a", "b"):
        why = "; ".join(found["apart", node].of_underlay)
        assert re.search(
            r"between machines m1 and m2 during the trial took [12]\.\d+ ms one way, and "
            r"\d+\.\d+ ms are subtracted, as measured by `up`",
            why,
        ), why
        assert re.search(r"during the trial lost \d+ of \d+ probes", why), why
    for node in ("b", "c"):
        assert not found["together", node].of_underlay
        assert not found["together", node].crossed


@pytest.mark.slow
def test_a_network_that_does_not_change_is_no_reason_against_a_link(apart: Lan) -> None:
    (apart.folder / "study.yaml").write_text(STUDY + PROBE)
    apart.delaylab("run", "study.yaml", "--out", "out")
    (trial,) = read_study(apart.folder / "out").trials
    (measured,) = trial.underlays
    assert measured.lost == 0
    assert measured.sent > 600
    for each in trial_links(trial):
        why = "; ".join(each.verdict.of_underlay)
        assert "are subtracted" not in why, why
        assert "lost" not in why, why


def least_ms(machines: Lan, node: str, to: str) -> float:
    """Return the least round trip of 40 pings, in ms: other work of a machine makes no ping faster.

    The summary of `ping` has microseconds also where its lines have none, from 100 ms on.
    """
    done = machines.delaylab("exec", node, "--", "ping", "-q", "-c", "40", "-i", "0.02", to)
    found = re.search(r"40 received.*= ([\d.]+)/", done.stdout, re.DOTALL)
    assert found, done.stdout
    return float(found[1])
