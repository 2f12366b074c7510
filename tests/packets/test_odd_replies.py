"""An odd reply is named for what it is, and the address that answered is never made up."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.packets.agents import ROOT, Pair, helper, probe, run
from tests.packets.test_corrupted import corrupting

COUNT = 12
SIZE = 56
CORRUPTED = 9
OTHER = "10.9.0.3"
FLAWS = {
    1: "the reply has no data",
    2: "the reply has 28 bytes of data, not 56",
    3: "the data of the reply are not those that were sent",
    4: "the data of the reply are not those that were sent",
    5: "the reply has 656 bytes of data, not 56",
    6: "the reply has code 1",
    8: f"the reply came from {OTHER}",
}
"""Errors of the answers of ``odd_echoes.py``, by the packets' sequence numbers."""


@contextmanager
def odd(joined: Pair) -> Iterator[None]:
    """The responder of ``odd_echoes.py`` at the right end."""
    run("sysctl", "-qw", "net.ipv4.icmp_echo_ignore_all=1", namespace=joined.right)
    run("ip", "address", "add", f"{OTHER}/24", "dev", "right", namespace=joined.right)
    with helper(joined.right, "odd_echoes"):
        yield


def assert_named(packets: dict[int, dict[str, Any]], *, raw: bool) -> None:
    """Each packet has the fate that its reply deserves, and says who answered."""
    fates = {seq: (packet["outcome"], packet["error"]) for seq, packet in packets.items()}
    far_longer = fates.pop(10)
    assert far_longer[0] == "mismatched"
    assert far_longer[1].startswith("the reply has more than ")
    reason = "its reply came with a wrong checksum" if raw else None
    expected: dict[int, tuple[str, str | None]]
    expected = dict.fromkeys(set(range(COUNT)) - {10}, ("replied", None))
    expected |= {seq: ("mismatched", flaw) for seq, flaw in FLAWS.items()}
    assert fates == expected | {CORRUPTED: ("lost", reason)}
    by = {seq: packet["from"] for seq, packet in packets.items()}
    assert by == dict.fromkeys(range(COUNT), "10.9.0.2") | {8: OTHER, CORRUPTED: None}
    assert {seq for seq, packet in packets.items() if packet.get("duplicates")} == {7}
    answered = {seq for seq, packet in packets.items() if packet["rtt_app_ns"] is not None}
    assert answered == set(range(COUNT)) - {10, CORRUPTED} - set(FLAWS)


@pytest.mark.parametrize("raw", [True, False])
def test_an_odd_reply_is_named(joined: Pair, raw: bool) -> None:
    if raw:
        run("sysctl", "-qw", "net.ipv4.ping_group_range=1 0", namespace=joined.left)
    with odd(joined), joined.agent(joined.left) as agent:
        # Further replies come within the linger that the lost packet takes, also from a responder
        # that waits for a CPU.
        answer = agent.run(
            probe(count=COUNT, size=SIZE, live=True, linger_ns=5_000_000_000, interval_ns=5_000_000)
        )
    assert answer.error is None
    live = {event["packet"]["seq"]: event["packet"] for event in answer.events if "packet" in event}
    assert_named(live, raw=raw)
    assert answer.done is not None
    (warning,) = (each for each in answer.done["warnings"] if each["kind"] == "mismatched-replies")
    assert warning["message"].startswith(f"{len(FLAWS) + 1} answers were no reply")
    duplicates = answer.tables["packets"]["duplicates"].to_list()
    assert duplicates == [int(seq == 7) for seq in range(COUNT)]


def test_ping_says_what_is_odd(joined: Pair) -> None:
    command = ["ip", "netns", "exec", joined.left, str(ROOT / ".venv" / "bin" / "delaylab"), "ping"]
    # Long enough for a responder that waits for a CPU to answer the last packets.
    command += ["-c", str(COUNT), "-i", "5ms", "-W", "5s", "10.9.0.2"]
    run("sysctl", "-qw", "net.ipv4.ping_group_range=1 0", namespace=joined.left)
    with odd(joined):
        # The next hop is resolved first, by an echo that is answered, too, and no packet's reply.
        run("ip", "neighbour", "flush", "dev", "left", namespace=joined.left)
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        made = subprocess.run([*command, "--json"], check=True, capture_output=True).stdout
    told = (line.split("  at=")[0] for line in printed.splitlines() if line.startswith("seq="))
    lines = {line.split()[0]: line for line in told}
    for seq, flaw in FLAWS.items():
        assert lines[f"seq={seq}"] == f"seq={seq} mismatched: {flaw}"
    assert lines["seq=9"] == "seq=9 lost: its reply came with a wrong checksum"
    assert lines["seq=7"] == "seq=7 duplicate: 2 replies so far"
    assert len([line for line in printed.splitlines() if line.startswith("seq=7 ")]) == 2
    (summary,) = (line for line in printed.splitlines() if f"{COUNT} sent" in line)
    counts = "1 lost (8.3 %), 8 mismatched replies, 1 duplicate reply"
    assert summary.endswith(counts), [summary, *lines.values()]
    result = json.loads(made)
    assert (result["duplicates"], result["lost"]) == (1, 1), made
    assert_named({packet["seq"]: packet for packet in result["packets"]}, raw=True)


def test_hops_are_the_addresses_that_answered(joined: Pair) -> None:
    """The destination answers from another one of its addresses."""
    command = ["ip", "netns", "exec", joined.left, str(ROOT / ".venv" / "bin" / "delaylab"), "ping"]
    with odd(joined):
        made = subprocess.run(
            [*command, "--hops", "--json", "-c", "9", "-i", "20ms", "10.9.0.2"],
            check=True, capture_output=True,
        ).stdout  # fmt: skip
    (hop,) = json.loads(made)["hops"]
    assert set(hop["addresses"]) == {"10.9.0.2", OTHER}


def test_a_raw_socket_leaves_the_errors_of_others_alone(joined: Pair) -> None:
    """It gets the ICMP errors about all echoes of its namespace."""
    run("sysctl", "-qw", "net.ipv4.ping_group_range=1 0", namespace=joined.left)
    run("sysctl", "-qw", "net.ipv4.ip_forward=1", namespace=joined.right)
    run("ip", "route", "add", "10.8.0.0/24", "via", "10.9.0.2", namespace=joined.left)
    with joined.agent(joined.left) as agent, joined.agent(joined.left) as other:
        other.start(probe(to="10.8.0.1", count=10_000, ident=99))
        answer = agent.run(probe(count=100))
        refused = other.stop()
    reasons = refused.tables["packets"]["error"].unique().drop_nulls().to_list()
    assert reasons == ["Network is unreachable (os error 101) (ICMP type 3 code 0, from 10.9.0.2)"]
    assert answer.done is not None
    assert (answer.done["replied"], answer.done["warnings"]) == (100, [])


@pytest.mark.parametrize("raw", [True, False])
def test_a_redirect_is_no_loss(joined: Pair, raw: bool) -> None:
    """A router that sends a packet back over the link on which it came says so to its sender."""
    if raw:
        run("sysctl", "-qw", "net.ipv4.ping_group_range=1 0", namespace=joined.left)
    with corrupting(joined), joined.agent(joined.left) as agent:
        run("sysctl", "-qw", "net.ipv4.ip_forward=1", namespace=joined.right)
        answer = agent.run(probe(to="10.9.0.9", count=COUNT, linger_ns=200_000_000))
    sent = run("nstat", "-asz", "IcmpOutRedirects", namespace=joined.right).split()
    assert int(sent[sent.index("IcmpOutRedirects") + 1]) > 0
    assert answer.error is None
    packets = answer.tables["packets"]
    assert packets.filter(outcome="replied")["seq"].to_list() == list(range(0, COUNT, 2))
    assert set(packets["error"]) <= {None, "its reply came with a wrong checksum"}
