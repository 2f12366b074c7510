"""`delaylab ping`, and the probe's user RTT beside iputils' ping."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import socket
import statistics
import subprocess
import threading
import urllib.request
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from delaylab.agent.measuring_requests import Probe
from delaylab.agent.wire.measuring import Counters
from delaylab.agent.wire.sessions import Exec
from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary
from delaylab.resolve.resolve import lab_from_data
from delaylab.units import Duration
from delaylab.verbs.ping import run as ping
from delaylab_study.trial.frames import frame
from tests.doing.conftest import DELAYLAB, Run, Up, as_json
from tests.waiting import PATIENCE_S, wait_until

ROUNDS = 9
COUNT = 100
MAY_EXCEED_US = 5


def test_json_says_user_kernel_added_and_slip(delaylab: Run) -> None:
    result = as_json(delaylab("ping", "-c", "5", "-i", "20ms", "--json", "127.0.0.1"))
    assert (result["sent"], result["replied"], result["lost"]) == (5, 5, 0)
    for packet in result["packets"]:
        assert packet["rtt_app_ns"] > packet["rtt_stack_ns"] > 0
        assert packet["slip_ns"] >= 0
    assert result["rtt_added_by_this_machine_ns"]["n"] == 5
    user, kernel = result["rtt_user_ns"], result["rtt_kernel_ns"]
    assert user["min"] <= user["median"] <= user["max"]
    assert kernel["median"] < user["median"]


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_line_per_packet_and_a_summary(delaylab: Run, host: str) -> None:
    output = delaylab("ping", "-c", "3", "-i", "10ms", host).stdout
    assert len(re.findall(r"^seq=\d+ .*user=.*kernel=.*added-here=.*slip=", output, re.M)) == 3
    assert "3 sent, 3 replied, 0 late, 0 lost (0.0 %)" in output


def test_an_ordinary_user_is_told_what_to_set_or_pings(nobody: Run) -> None:
    low, high = map(int, Path("/proc/sys/net/ipv4/ping_group_range").read_text().split())
    if low <= 65534 <= high:
        nobody("ping", "-c", "1", "127.0.0.1")
    else:
        done = nobody("ping", "-c", "1", "127.0.0.1", code=1)
        assert "net.ipv4.ping_group_range" in done.stderr
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (("no-such-host.invalid",), "no address for 'no-such-host.invalid'"),
        (("-i", "fast", "127.0.0.1"), "expected a duration such as 250ms"),
        (("-6", "127.0.0.1"), "no address for '127.0.0.1'"),
        (("-4", "-6", "127.0.0.1"), "-4 and -6 exclude each other"),
        (("--tcp", "--hops", "127.0.0.1:80"), "--hops sends echoes: leave out --tcp"),
    ],
)
def test_bad_arguments(delaylab: Run, argv: tuple[str, ...], says: str) -> None:
    done = delaylab("ping", *argv, code=2)
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.root
@pytest.mark.slow
def test_user_rtt_is_not_above_that_of_ping() -> None:
    """In turn, on the same lab; the median of the rounds' differences."""
    spec = lab_from_data(
        {"lab": "beside", "nodes": {"a": {}, "b": {}}, "links": [{"join": ["a", "b"]}]}
    )
    with temporary(spec, accounting=False) as lab:
        address = lab.plan.nodes["b"].attachments[0].address
        differences = [ours(lab, address) - pings(lab, address) for _ in range(ROUNDS)]
    assert statistics.median(differences) <= MAY_EXCEED_US, differences


def pings(lab: LiveLab, address: str) -> float:
    """Median user RTT of `ping -U` in µs."""
    session = lab.node_session("a")
    argv = ["ping", "-U", "-n", "-i", "0.01", "-c", str(COUNT), address]
    done = session.call(Exec(argv=argv))
    times = [float(t) * 1e3 for t in re.findall(rb"time=([\d.]+) ms", done.stdout)]
    assert len(times) == COUNT
    return statistics.median(times)


def ours(lab: LiveLab, address: str) -> float:
    """Median user RTT of the probe with all its stamps in µs."""
    session = lab.node_session("a")
    request = Probe(
        probe=1,
        protocol="icmp",
        to=address,
        count=COUNT,
        interval_ns=10_000_000,
        size=56,
        linger_ns=200_000_000,
        late_ns=200_000_000,
        realtime=True,
    )
    result = session.call(request)
    stamps = frame(result, "stamps").filter(pl.col("point").cast(pl.String) == "app")
    both = stamps.filter(leg=0).join(stamps.filter(leg=1), on="seq", suffix="_reply")
    assert len(both) == COUNT
    return float(np.median((both["time_ns_reply"] - both["time_ns"]).to_numpy())) / 1e3


FAR = """\
lab: far
nodes: {a: {}, b: {}}
links:
  - between: [a, b]
    delay: 800ms
"""
RTT_NS = 1_600_000_000


@pytest.fixture
def far(up: Up, delaylab: Run) -> str:
    """The address of a node that is 800 ms away each way; its neighbour is not resolved yet."""
    up(FAR)
    nodes = {node["name"]: node for node in as_json(delaylab("ps", "--json"))["labs"][0]["nodes"]}
    return str(nodes["b"]["interfaces"][0]["addresses"][0]).split("/")[0]


def from_a(delaylab: Run, *argv: str) -> list[str]:
    """The lines that `delaylab ping` prints in node a."""
    return delaylab("exec", "a", "--", str(DELAYLAB), "ping", *argv).stdout.splitlines()


def test_a_reply_of_over_a_second_is_waited_for_and_listed_once(delaylab: Run, far: str) -> None:
    result = json.loads("".join(from_a(delaylab, "-c", "4", "-i", "300ms", "--json", far)))
    assert (result["sent"], result["replied"], result["late"], result["lost"]) == (4, 4, 0, 0)
    assert [packet["seq"] for packet in result["packets"]] == [0, 1, 2, 3]
    assert all(packet["rtt_stack_ns"] >= RTT_NS for packet in result["packets"])
    # The neighbour's answer takes a round trip; none of it is in the first packet's.
    assert result["neighbour_resolution_ns"] >= RTT_NS
    assert result["packets"][0]["rtt_app_ns"] < 1.5 * RTT_NS
    assert all(
        packet["rtt_app_ns"] - packet["rtt_stack_ns"] < RTT_NS / 2 for packet in result["packets"]
    )


def test_the_wait_ends_without_a_first_reply(delaylab: Run, far: str) -> None:
    resolved = ("-c", "1", far)
    assert "1 replied" in "".join(from_a(delaylab, *resolved))
    done = delaylab("exec", "a", "--", str(DELAYLAB), "ping", "-c", "2", "-i", "100ms", "-W", "1s",
                    far, code=1)  # fmt: skip
    lines = done.stdout.splitlines()
    assert "2 sent, 0 replied, 0 late, 2 lost (100.0 %)" in lines
    told = [line.split("  at=")[0] for line in lines if line.startswith("seq=")]
    assert told == ["seq=0 lost", "seq=1 lost"]


def test_a_wait_that_a_first_reply_ends_goes_on_for_two_round_trips(
    delaylab: Run, far: str
) -> None:
    # The first reply comes 0.4 s before -W is over; the last one 0.6 s after it would be.
    lines = from_a(delaylab, "-c", "11", "-i", "100ms", "-W", "1s", far)
    assert "11 sent, 11 replied, 0 late, 0 lost (0.0 %)" in lines
    assert len([line for line in lines if line.startswith("seq=")]) == 11


def test_quiet_prints_the_summary_alone_and_the_same_packets(delaylab: Run) -> None:
    lines = delaylab("ping", "-q", "-c", "20000", "--flood", "127.0.0.1").stdout.splitlines()
    assert not [line for line in lines if line.startswith("seq=")]
    assert any(line.startswith("20000 sent, 20000 replied") for line in lines)
    last = next(at for at, line in enumerate(lines) if line.startswith("jitter"))
    rows = {line.split("  ")[0]: line.split()[-5] for line in lines[last - 4 : last]}
    assert all(line.startswith(("late: seq=", "this machine: ")) for line in lines[last + 1 :])
    names = ["user round trip", "kernel round trip", "added by this machine", "send slip (one way)"]
    assert rows == dict.fromkeys(names, "20000")


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (("-c", "1" + "0" * 21), "--count is at most 4294967295"),
        (("-c", "0"), "--count is at least 1"),
        (("-c", "few"), "--count is a whole number, got 'few'"),
        (("-s", "3"), "--size is at least 24"),
        (("-s", "70000"), "--size is at most 65507"),
        (("-t", "256"), "--ttl is at most 255"),
        (("-W", "25h"), "--wait is at most 24h"),
        (("-i", "25h"), "--interval is at most 24h"),
        (("-i", "24h"), "100000 packets at 24h take over 876000h"),
        (("-i", "0"), "as fast as replies come: say --flood"),
    ],
)
def test_an_impossible_number_is_a_line_that_names_its_option(
    delaylab: Run, argv: tuple[str, ...], says: str
) -> None:
    done = delaylab("ping", *argv, "127.0.0.1", code=2)
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert not done.stdout


def test_more_packets_than_memory_are_refused(delaylab: Run) -> None:
    done = delaylab("ping", "-i", "1us", "-c", "4294967295", "127.0.0.1", code=3)
    assert "--count: 4294967295 packets need" in done.stderr
    assert done.stderr.count("\n") == 1
    done = delaylab("ping", "--hops", "-i", "1us", "-c", "4294967295", "127.0.0.1", code=3)
    assert "--count: 4294967295 packets need" in done.stderr
    assert done.stderr.count("\n") == 1


CHAIN = """\
lab: chain
ip: [4, 6]
nodes: {a: {}, b: {}, r1: {forwards: true}, r2: {forwards: true}}
links:
  - {between: [a, r1], name: near}
  - {between: [r1, r2], name: wan, delay: 5ms}
  - {between: [r2, b], name: far}
"""


def addresses(delaylab: Run, ip: int) -> dict[str, list[str]]:
    """The addresses of each node of the only lab, in the order of its interfaces."""
    nodes = as_json(delaylab("ps", "--json"))["labs"][0]["nodes"]
    return {
        node["name"]: [
            each.split("/")[0]
            for interface in node["interfaces"]
            for each in interface["addresses"]
            if (":" in each) == (ip == 6)
        ]
        for node in nodes
    }


@pytest.mark.parametrize("ip", [4, 6])
def test_hops_are_the_routers_in_order_with_their_round_trips(
    delaylab: Run, up: Up, ip: int
) -> None:
    up(CHAIN)
    known = addresses(delaylab, ip)
    found = json.loads(
        "".join(from_a(delaylab, "--hops", "-c", "3", "-i", "600ms", "--json", known["b"][0]))
    )
    hops = found["hops"]
    near, far_side, end = known["r1"][0], known["r2"][0], known["b"][0]
    assert [hop["addresses"] for hop in hops] == [[near], [far_side], [end]]
    assert [hop["reached"] for hop in hops] == [False, False, True]
    assert [(hop["sent"], hop["lost"]) for hop in hops] == [(3, 0)] * 3
    # The link of 5 ms each way is behind the first router.
    wan_ns = 10_000_000
    assert hops[0]["rtt_kernel_ns"]["min"] < wan_ns
    for hop in hops[1:]:
        assert hop["rtt_user_ns"]["min"] >= hop["rtt_kernel_ns"]["min"] >= wan_ns
    lines = from_a(delaylab, "--hops", "-c", "1", known["b"][0])
    assert [line.split()[:2] for line in lines[2:5]] == [["1", near], ["2", far_side], ["3", end]]


def test_hops_to_a_host_that_does_not_answer_end_at_the_last_router(delaylab: Run, up: Up) -> None:
    up(CHAIN)
    known = addresses(delaylab, 4)
    delaylab("exec", "b", "--", "sysctl", "-qw", "net.ipv4.icmp_echo_ignore_all=1")
    argv = ("ping", "--hops", "-c", "1", "-W", "1s", known["b"][0])
    done = delaylab("exec", "a", "--", str(DELAYLAB), *argv, code=1)
    assert f"{known['b'][0]} itself did not answer" in done.stdout
    assert known["r2"][0] in done.stdout


@pytest.mark.parametrize("ip", [4, 6])
def test_hops_name_the_router_that_prohibits(delaylab: Run, up: Up, ip: int) -> None:
    up(CHAIN)
    known = addresses(delaylab, ip)
    to = known["b"][0]
    delaylab("exec", "r2", "--", "ip", f"-{ip}", "route", "add", "prohibit", to)
    argv = ("ping", "--hops", "-c", "1", "-W", "1s", to)
    shown = delaylab("exec", "a", "--", str(DELAYLAB), *argv, code=1).stdout
    by = next(line.split()[1] for line in shown.splitlines() if "(prohibited)" in line)
    assert by in known["r2"]
    assert f"{to} itself did not answer: {by} (prohibited) did not forward the packets" in shown
    if ip == 6:  # By IPv4 the router would not say it again so soon.
        made = delaylab("exec", "a", "--", str(DELAYLAB), *argv, "--json", code=1).stdout
        (refused,) = json.loads(made)["hops"][-1]["refused"]
        assert refused == {"address": by, "type": 1, "code": 1}


def test_hops_set_the_ttl_themselves(delaylab: Run) -> None:
    done = delaylab("ping", "--hops", "--ttl", "3", "127.0.0.1", code=2)
    assert "leave out --ttl and --flood" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_terminal_shows_lines_and_a_picture_below_them(tmp_path: Path) -> None:
    near, far = pty.openpty()
    argv = [str(DELAYLAB), "ping", "-c", "4", "-i", "20ms", "127.0.0.1"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    process = subprocess.Popen(argv, stdout=far, stdin=far, cwd=tmp_path, env=environment)
    os.close(far)
    written = b""
    with contextlib.suppress(OSError):  # EIO: the program has closed its terminal
        while more := os.read(near, 1 << 16):
            written += more
    os.close(near)
    assert process.wait() == 0
    text = written.decode()
    assert len(re.findall(r"(?<!late: )seq=\d+ ", text)) == 4
    assert re.search(r"µs … [\d.]+µs [▁▂▃▄▅▆▇█]{4}", text)
    assert re.search(r"\d+µs – \d+µs +\d+  █+", text)
    assert "4 sent, 4 replied" in text


def test_metrics_agree_with_the_summary(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    argv = [str(DELAYLAB), "ping", "-i", "20ms", "--metrics", str(port), "127.0.0.1"]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    assert process.stdout is not None
    while not process.stdout.readline().startswith("seq=9 "):
        assert process.poll() is None
    asked = urllib.request.Request(
        f"http://127.0.0.1:{port}/metrics", headers={"Accept": "application/openmetrics-text"}
    )
    with urllib.request.urlopen(asked, timeout=PATIENCE_S) as answer:
        assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
        text = answer.read().decode()
    process.send_signal(signal.SIGINT)
    rest = process.stdout.read()
    assert process.wait() == 130
    families = {family.name: family for family in text_string_to_metric_families(text)}  # type: ignore[no-untyped-call]
    replied = families["delaylab_ping_packets"].samples[0]
    assert replied.labels == {
        "host": "127.0.0.1",
        "target": "127.0.0.1",
        "outcome": "replied",
    }
    last = max((int(seq) for seq in re.findall(r"^seq=(\d+) ", rest, re.M)), default=9)
    assert 9 <= replied.value <= last + 1
    for name in ("rtt_user", "rtt_kernel", "added", "slip"):
        samples = {each.name: each for each in families[f"delaylab_ping_{name}_seconds"].samples}
        assert samples[f"delaylab_ping_{name}_seconds_count"].value == replied.value
        assert 0 < samples[f"delaylab_ping_{name}_seconds_sum"].value < replied.value


def test_a_metrics_port_that_is_taken_is_a_line(delaylab: Run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = delaylab("ping", "-c", "1", "--metrics", str(port), "127.0.0.1", code=2)
    assert f"--metrics: 127.0.0.1:{port}: Address already in use" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_ping_keeps_the_packets_that_it_has_when_its_node_is_killed() -> None:
    spec = lab_from_data(
        {"lab": "cut", "nodes": {"a": {}, "b": {}}, "links": [{"between": ["a", "b"]}]}
    )
    answered, enough = 250, 100
    with temporary(spec) as lab:
        other = lab.node_session("b")

        def kill() -> None:
            """Kill the node once it has sent for more than the time between two reports."""
            wait_until(lambda: other.call(Counters()).done.snmp["Icmp"]["InEchos"] >= answered, 60)
            os.kill(lab.pid("node.a"), signal.SIGKILL)

        to = lab.plan.nodes["b"].attachments[0].address
        options = ping.PingOptions(
            to, 5000, Duration.parse("10ms"), 56, None, realtime=False, quiet=True
        )
        killer = threading.Thread(target=kill)
        killer.start()
        result = ping.run(options, session=lab.node_session("a"))
        killer.join()
    assert result.cut_short is not None
    assert "the agent died during 'probe'" in result.cut_short
    assert enough <= result.sent < 5000
    assert [packet.seq for packet in result.packets] == list(range(result.sent))
    assert {packet.outcome for packet in result.packets} == {"replied"}
    assert result.rtt_kernel_ns is not None
    assert result.rtt_kernel_ns.n == result.sent
    assert result.as_json()["cut_short"] == result.cut_short
