"""Probes to a real host outside of the lab: a network namespace of the test plays that host."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from delaylab.errors import BadInput, DelaylabError
from delaylab.resolve.resolve import lab_from_data
from delaylab_study.analysis.packets.named import named
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.study_file.combine import Combination
from delaylab_study.study_file.probe import ProbeSpec
from delaylab_study.trial.recording import Recording
from tests.doing.conftest import Run, as_json, measured, only_line
from tests.stamped import columns, narrow, packets

pytestmark = pytest.mark.root
NUMBER = os.getpid() % 250
"""Two runs at once have different hosts outside; the networks are for tests (RFC 5737, 2544)."""
ADDRESS = f"192.0.2.{1 + NUMBER}"
HERE, THERE = f"198.18.{NUMBER}.1", f"198.18.{NUMBER}.2"
COUNT = 20
TURN_MS = 20
HTTP_SERVER = f"""
import socket, time
with socket.create_server(("", 80)) as server:
    print("ready", flush=True)
    while True:
        connection, _ = server.accept()
        with connection:
            connection.recv(4096)
            time.sleep({TURN_MS} / 1000)
            connection.sendall(b"HTTP/1.1 503 Busy\\r\\n\\r\\n")
"""


@dataclass(frozen=True)
class Outside:
    """A host outside: its namespace, and this machine's interface to it."""

    namespace: str
    interface: str


@pytest.fixture
def outside() -> Iterator[Outside]:
    """A host at ADDRESS, behind an interface of this machine."""
    host = Outside(f"dl-outside-{os.getpid()}", f"dlout{os.getpid() % 100_000}")
    commands = (
        f"ip netns add {host.namespace}",
        f"ip link add {host.interface} type veth peer name eth0 netns {host.namespace}",
        f"ip address add {HERE}/30 dev {host.interface}",
        f"ip link set {host.interface} up",
        f"ip -n {host.namespace} address add {THERE}/30 dev eth0",
        f"ip -n {host.namespace} address add {ADDRESS}/32 dev lo",
        f"ip -n {host.namespace} link set lo up",
        f"ip -n {host.namespace} link set eth0 up",
        f"ip route add {ADDRESS} via {THERE}",
    )
    try:
        for command in commands:
            subprocess.run(command.split(), check=True)
        yield host
    finally:
        subprocess.run(["ip", "link", "delete", host.interface], check=False)
        subprocess.run(["ip", "netns", "delete", host.namespace], check=False)


@contextmanager
def serving(host: Outside, script: str) -> Iterator[None]:
    """Run a server at the host outside, ready when the block begins."""
    command = ["ip", "netns", "exec", host.namespace, sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            assert server.stdout.readline() == "ready\n"
            yield
        finally:
            server.kill()


def combination(kind: str = "native", to: str = ADDRESS, **probe: object) -> Combination:
    """Return a trial of one node, which probes a host outside."""
    lab = lab_from_data({"lab": "edge", "nodes": {"me": {"kind": kind}}})
    fields = {"from": "me", "to": to, "count": COUNT, "interval": "5ms", "at_rest": 5}
    return Combination({}, lab, (), ProbeSpec.model_validate(fields | probe))


def seen_everywhere(recording: Recording) -> TrialRecord:
    """Check that each packet was stamped at each point in order; return the trial's record."""
    path = recording.record.way
    table = packets(recording.stamps, recording.probes, path)
    # The tap starts after the phase in which it is off.
    table = table.filter(table["phase"] != "untapped")
    seen = {name: len(table) - table[name].null_count() for name in columns(path)}
    assert set(seen.values()) == {COUNT + 2 * 5}, seen
    for earlier, later in itertools.pairwise(columns(path)):
        assert ((table[later] - table[earlier]) >= 0).all(), (earlier, later)
    head = {"id": "x", "index": 0, "factors": {}, "repeat": 1, "status": "ok"}
    trial = TrialRecord.model_validate({**head, **dict(recording.record)})
    (turn,) = [part for part in named(narrow(table), trial) if part.leg == "turn"]
    assert turn.layer == "outside"
    assert turn.direction == "remote"
    return trial


@pytest.mark.usefixtures("outside")
def test_icmp_has_the_points_of_this_side() -> None:
    recording = measured(combination(), probe_id=3)
    trial = seen_everywhere(recording)
    assert trial.way.request == [f"sender.{p}" for p in ("app", "qdisc", "uplink", "stack")]
    assert trial.way.reply == [f"sender.{p}" for p in ("uplink", "stack", "app")]
    assert set(recording.probes["outcome"]) == {"replied"}
    assert trial.responder is not None
    assert (trial.responder.node, trial.responder.kind) == (ADDRESS, "outside")
    assert [tap.by for tap in trial.taps] == ["ring"]
    everywhere = {
        f"{side}.{point}"
        for side in ("sender", "responder")
        for point in ("app", "qdisc", "stack", "vif", "uplink")
    } | {"wire"}
    assert set(trial.way.request) | set(trial.absent) == everywhere


@pytest.mark.usefixtures("outside")
def test_a_closed_port_answers_a_probe_by_tcp() -> None:
    recording = measured(combination(protocol="tcp", port=81), probe_id=3)
    trial = seen_everywhere(recording)
    assert set(recording.probes["outcome"]) == {"closed"}
    assert trial.way.request == ["sender.app", "sender.uplink"]


@pytest.mark.usefixtures("outside")
def test_a_study_says_that_the_port_is_closed(delaylab: Run, tmp_path: Path) -> None:
    (tmp_path / "edge.yaml").write_text(
        "study: edge\n"
        "lab: {lab: edge, nodes: {me: {kind: native}}}\n"
        f"probe: {{from: me, to: {ADDRESS}, protocol: tcp, port: 81, count: 30, interval: 5ms}}\n"
    )
    delaylab("run", "edge.yaml", "--out", "out")
    (trial,) = as_json(delaylab("show", "out", "--json"))["trials"]
    assert "closed-port" in [warning["kind"] for warning in trial["warnings"]]


def test_the_turn_of_a_web_server_is_outside(outside: Outside) -> None:
    with serving(outside, HTTP_SERVER):
        # The server takes one connection after the other.
        probed = combination(protocol="http", port=80, interval="40ms")
        recording = measured(probed, probe_id=3)
    trial = seen_everywhere(recording)
    assert set(recording.probes["outcome"]) == {"replied"}
    table = packets(recording.stamps, recording.probes, trial.way)
    turn = table["reply sender.uplink"] - table["request sender.uplink"]
    whole = table["reply sender.app"] - table["request sender.app"]
    for round_trips in (turn, whole):
        assert (round_trips.drop_nulls() >= TURN_MS * 1_000_000).all()


@pytest.mark.usefixtures("outside")
def test_a_study_and_its_report(delaylab: Run, tmp_path: Path) -> None:
    (tmp_path / "edge.yaml").write_text(
        "study: edge\n"
        "lab: {lab: edge, nodes: {me: {kind: native}}}\n"
        f"probe: {{from: me, to: {ADDRESS}, count: 30, interval: 5ms}}\n"
    )
    delaylab("run", "edge.yaml", "--out", "out")
    shown = as_json(delaylab("show", "out", "--json"))
    (trial,) = shown["trials"]
    layers = {segment["layer"] for segment in trial["segments"]}
    assert "outside" in layers
    assert "outside" in delaylab("show", "out", env={"COLUMNS": "80"}).stdout
    assert "outside" in (tmp_path / "out" / "report.html").read_text()


def test_a_node_without_a_route_is_named(outside: Outside) -> None:
    with pytest.raises(DelaylabError, match=f"node 'me' has no route to {ADDRESS}"):
        measured(combination(kind="netns"), probe_id=3)


def test_an_address_of_a_node_is_named() -> None:
    lab = lab_from_data(
        {
            "lab": "edge",
            "nodes": {"me": {}, "you": {}},
            "links": [
                {
                    "join": ["me", "you"],
                    "addresses": {"me": "10.5.0.1/24", "you": "10.5.0.2/24"},
                }
            ],
        }
    )
    probe = ProbeSpec.model_validate({"from": "me", "to": "10.5.0.2", "count": 1})
    with pytest.raises(BadInput, match=r"10\.5\.0\.2 is the address of node 'you'.*say `to: you`"):
        measured(Combination({}, lab, (), probe), probe_id=3)


@pytest.mark.parametrize(
    ("probe", "says"),
    [
        ("to: 192.0.2.1, protocol: udp", "nobody at 192.0.2.1 sends delaylab's datagrams back"),
        ("to: 192.0.2.1, protocol: tcp", "`port` is missing: the one to send to at 192.0.2.1"),
        ("to: '2001:db8::1'", "2001:db8::1 is an IPv6 address, `ip` is 4"),
        ("to: 192.0.2.1, over: lan", "has no `over`"),
        ("to: 224.0.0.1", "224.0.0.1 is no host to probe: it is a multicast address"),
        ("to: Me!", "'Me!' is neither a node's name nor an address"),
        ("to: you", "no node 'you'"),
    ],
)
def test_an_impossible_host_is_one_line(
    delaylab: Run, tmp_path: Path, probe: str, says: str
) -> None:
    (tmp_path / "edge.yaml").write_text(
        "study: edge\n"
        "lab: {lab: edge, nodes: {me: {kind: native}}}\n"
        f"probe: {{from: me, {probe}}}\n"
    )
    assert says in only_line(delaylab("run", "edge.yaml", "--dry-run", code=2).stderr)
