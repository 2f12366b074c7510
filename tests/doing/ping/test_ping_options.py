"""Options of `delaylab ping` that ping(8) and fping(8) have, too, and its jitter."""

from __future__ import annotations

import itertools
import json
import re
import signal
import socket
import statistics
import subprocess
import time
from collections.abc import Iterator

import pytest

from delaylab.verbs.ping.result import jitter
from tests.doing.conftest import DELAYLAB, Run, Up, as_json
from tests.doing.ping.test_ping import addresses
from tests.waiting import PATIENCE_S

LOCAL = "127.0.0.1"
ETH_P_ALL = 3
SO_RCVBUFFORCE = 33


def test_jitter_is_the_mean_difference_of_neighbours(delaylab: Run) -> None:
    result = as_json(delaylab("ping", "-c", "20", "-i", "5ms", "--json", "127.0.0.1"))
    trips = [packet["rtt_app_ns"] for packet in result["packets"]]
    steps = [abs(after - before) for before, after in itertools.pairwise(trips)]
    assert result["jitter_user_ns"] == pytest.approx(statistics.fmean(steps))
    assert result["jitter_kernel_ns"] > 0
    assert jitter([(0, 5), (1, None), (2, 9), (3, 4), (4, 4)]) == 2.5
    assert jitter([(0, 5), (2, 9)]) is None
    text = delaylab("ping", "-c", "3", "-i", "5ms", "127.0.0.1").stdout
    assert re.search(r"jitter, .* user [\d.]+µs, kernel [\d.]+µs", text)


def test_a_deadline_ends_a_ping_whatever_was_sent(delaylab: Run) -> None:
    # Without a deadline it would be over 1000 s.
    began = time.monotonic()
    quiet = as_json(delaylab("ping", "-i", "10ms", "-w", "500ms", "--json", "127.0.0.1"))
    text = delaylab("ping", "-i", "10ms", "--deadline", "0.5", "127.0.0.1").stdout
    assert time.monotonic() - began < PATIENCE_S
    # One packet at the start, and then one every 10 ms, until the deadline and no later.
    assert 0 < quiet["replied"] <= quiet["sent"] <= 51
    assert len(quiet["packets"]) == quiet["sent"]
    sent, replied = map(int, re.findall(r"(\d+) sent, (\d+) replied, 0 late, 0 lost", text)[0])
    assert 0 < replied <= sent <= 51


def test_a_ping_is_sent_from_the_address_that_is_given(delaylab: Run) -> None:
    with socket.create_server((LOCAL, 0)) as server:
        port = str(server.getsockname()[1])
        to = ("--tcp", "-p", port, "-c", "1", "-I", "127.0.0.9", LOCAL)
        assert as_json(delaylab("ping", *to, "--json"))["replied"] == 1
        server.settimeout(PATIENCE_S)
        connection, peer = server.accept()
        connection.close()
    assert peer[0] == "127.0.0.9"
    assert as_json(delaylab("ping", "-c", "1", "-I", "127.0.0.9", "--json", LOCAL))["replied"] == 1


@pytest.mark.parametrize(("host", "echoes"), [("127.0.0.9", {8, 0}), ("::1", {128, 129})])
def test_packets_have_the_type_of_service_and_so_have_answers(
    delaylab: Run, host: str, echoes: set[int]
) -> None:
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL)) as tap:
        # Other tests fill loopback with streams.
        tap.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        tap.bind(("lo", ETH_P_ALL))
        tap.settimeout(PATIENCE_S)
        delaylab("ping", "-c", "1", "-Q", "0xb8", host)
        seen = set[int]()
        while seen != echoes:
            seen |= {kind for tos, kind in icmp_of(tap.recv(2000)) if tos == 0xB8} & echoes


def icmp_of(packet: bytes) -> Iterator[tuple[int, int]]:
    """Yield the type of service of an IP packet, and its type of ICMP, if it is one."""
    if packet[0] >> 4 == 4 and packet[9] == socket.IPPROTO_ICMP:
        yield packet[1], packet[20]
    elif packet[0] >> 4 == 6 and packet[6] == socket.IPPROTO_ICMPV6:
        yield int.from_bytes(packet[:2], "big") >> 4 & 0xFF, packet[40]


TWO_WAYS = """\
lab: ways
nodes: {a: {}, b: {}}
links:
  - {between: [a, b], name: one}
  - {between: [a, b], name: other}
"""


def test_packets_leave_by_the_interface_that_is_given(delaylab: Run, up: Up) -> None:
    up(TWO_WAYS)
    there = addresses(delaylab, 4)["b"]
    for interface, host in (("one", there[0]), ("other", there[1])):
        before = sent_by(delaylab, interface)
        argv = ("ping", "-c", "20", "-i", "5ms", "-I", interface, "--json", host)
        result = json.loads(delaylab("exec", "a", "--", str(DELAYLAB), *argv).stdout)
        assert result["replied"] == 20
        assert sent_by(delaylab, interface) - before >= 20
    # The first address is not reached by the second link, to which it does not belong.
    wrong = ("ping", "-c", "1", "-W", "1s", "-I", "other", there[0])
    before = sent_by(delaylab, "one")
    delaylab("exec", "a", "--", "sh", "-c", f"{DELAYLAB} {' '.join(wrong)} || true")
    assert sent_by(delaylab, "one") == before


def sent_by(delaylab: Run, interface: str) -> int:
    shown = delaylab("exec", "a", "--", "ip", "-s", "-j", "link", "show", interface).stdout
    link = json.loads(shown)[0]
    return int(link["stats64"]["tx"]["packets"])


def test_several_hosts_are_pinged_at_the_same_time(delaylab: Run) -> None:
    hosts = ["127.0.0.1", "::1", "127.0.0.7"]
    began = time.monotonic()
    results = json.loads(delaylab("ping", "-c", "16", "-i", "500ms", "--json", *hosts).stdout)
    assert time.monotonic() - began < 22  # one after the other takes 22.5 s at least
    assert [each["host"] for each in results] == hosts
    assert all((each["sent"], each["replied"]) == (16, 16) for each in results)
    alone = json.loads(delaylab("ping", "-c", "1", "--json", hosts[0]).stdout)
    assert alone.keys() == results[0].keys()
    text = delaylab("ping", "-c", "2", "-i", "10ms", *hosts).stdout
    for host in hosts:
        assert len(re.findall(rf"^{host} +seq=\d .*user=", text, re.M)) == 2
        assert re.search(rf"^{host} +2 +2 +0 +0 +[\d.]+µs ", text, re.M)
    quiet = delaylab("ping", "-q", "-c", "2", "-i", "10ms", *hosts).stdout
    assert "seq=" not in quiet


def test_a_host_that_cannot_be_reached_does_not_end_the_others(delaylab: Run, up: Up) -> None:
    up(TWO_WAYS)
    there = addresses(delaylab, 4)["b"][0]
    argv = f"{DELAYLAB} ping -c 3 -i 10ms {there} 192.0.2.1; echo code=$?"
    done = delaylab("exec", "a", "--", "sh", "-c", argv)
    assert re.search(rf"^{there} +3 +3 ", done.stdout, re.M)
    assert re.search(r"^192\.0\.2\.1 +0 *$", done.stdout, re.M)
    assert "192.0.2.1: reach 192.0.2.1: Network is unreachable" in done.stderr
    assert "code=1" in done.stdout


def test_ctrl_c_ends_all_pings_with_their_summary() -> None:
    argv = [str(DELAYLAB), "ping", "-i", "20ms", "127.0.0.1", "::1"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        seen = set[str]()
        while len(seen) < 2:
            line = process.stdout.readline()
            seen |= {line.split()[0]} if "seq=" in line else set()
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
    assert process.returncode == 130
    assert len(re.findall(r"^(?:127\.0\.0\.1|::1) +\d+ +\d+ +0 +0 ", rest, re.M)) == 2


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("-I", "192.0.2.77"), "nothing can be sent from 192.0.2.77"),
        (("-I", "eth77"), "'eth77' is neither an address nor an interface of this machine"),
        (("-I", "127.0.0.9", "-6"), "leave out -4 and -6"),
        (("--hops", "-w", "1s"), "leave out --deadline"),
        (("-w", "soon"), "--deadline"),
        (("-Q", "256"), "--tos is 0 to 255, or 0x0 to 0xff, got '256'"),
        (("-Q", "ef"), "--tos is 0 to 255"),
        (("--hops", "::1"), "name only one"),
        (("--clean", "--hops"), "--hops repeats no packets: leave out --clean"),
        (("--clean", "::1"), "--clean repeats packets to one host: name only one"),
        (("--clean", "-f"), "leave out --flood"),
        (("--clean", "-i", "500us"), "ms at least"),
        (("--clean", "--clean-budget", "few"), "--clean-budget is a whole number, got 'few'"),
        (("--clean", "--clean-budget", "-1"), "--clean-budget is at least 0"),
        (("--clean-budget", "3"), "--clean-budget goes with --clean"),
        (("no-such-host.invalid",), "no address for 'no-such-host.invalid'"),
    ],
)
def test_an_option_that_cannot_be_is_one_line(
    delaylab: Run, argv: tuple[str, ...], said: str
) -> None:
    assert said in delaylab("ping", "-c", "1", *argv, LOCAL, code=2).stderr


def test_clean_packets_need_their_number(delaylab: Run) -> None:
    assert "give --count" in delaylab("ping", "--clean", LOCAL, code=2).stderr
