"""Lost, late, duplicated and reordered packets are told apart, in both modes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest

from tests.packets.agents import Agent, Pair, agent_binary, probe, run
from tests.packets.paths import SENDER_PATH, assert_whole_and_ordered

INTERVAL_NS = 10_000_000


@contextmanager
def misbehaving(joined: Pair, *how: str) -> Iterator[int]:
    """The responder of ``responder.py`` at the right end; gives its port."""
    script = str(Path(__file__).with_name("responder.py"))
    command = ["ip", "netns", "exec", joined.right, sys.executable, script, *how]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("mode", "by"), [("socket", "socket"), ("packet", "tcx"), ("packet", "ring")]
)
def test_every_packet_has_its_fate(joined: Pair, mode: str, by: str) -> None:
    # Packet 8 is answered when packet 12 is: four intervals late, and this is two.
    late = 2 * INTERVAL_NS
    with misbehaving(joined) as port, joined.agent(joined.left) as agent:
        answer = agent.run(
            probe(protocol="udp", port=port, count=20, interval_ns=INTERVAL_NS, late_ns=late,
                  mode=mode, stamps=["app"], tcx=by == "tcx")
        )  # fmt: skip
    packets = answer.tables["packets"]
    outcomes = dict(packets.select("seq", "outcome").iter_rows())
    # Which others were late on a busy machine, their own stamps say.
    stamps = answer.tables["stamps"].filter(pl.col("point").cast(pl.String) == "app")
    sent, replied = (
        dict(stamps.filter(leg=leg).group_by("seq").agg(pl.col("time_ns").min()).iter_rows())
        for leg in (0, 1)
    )
    too_late = {seq for seq in replied if replied[seq] - sent[seq] > late}
    assert replied.keys() == {*range(20)} - {3}
    assert outcomes == {
        seq: "lost" if seq == 3 else "late" if seq in too_late else "replied" for seq in range(20)
    }
    assert packets.filter(pl.col("duplicates") > 0).rows_by_key("seq", named=True).keys() == {5}
    assert packets["duplicates"].sum() == 1
    assert packets.filter("reordered")["seq"].to_list() == [8]
    assert answer.done is not None
    assert answer.done["by"] == by
    assert (answer.done["sent"], answer.done["replied"]) == (20, 19)


@pytest.mark.parametrize("ip", [4, 6])
def test_packet_mode_has_the_stamps_of_a_tap(joined: Pair, ip: int) -> None:
    to = "10.9.0.2" if ip == 4 else "fd09::2"
    with joined.agent(joined.left) as agent:
        answer = agent.run(probe(to=to, mode="packet", stamps=["app", "stack"], size=200))
    assert answer.error is None
    path = [step for step in SENDER_PATH if step[1] != "qdisc"]
    assert_whole_and_ordered(answer.tables["stamps"], path, 50)


@pytest.mark.parametrize("mode", ["socket", "packet"])
def test_without_an_interval_every_packet_is_accounted_for(joined: Pair, mode: str) -> None:
    with joined.agent(joined.left) as agent:
        answer = agent.run(probe(count=20_000, interval_ns=0, mode=mode, first_seq=60_000))
    assert answer.done is not None
    assert answer.done["replied"] == 20_000
    assert set(answer.tables["packets"]["outcome"]) == {"replied"}
    path = [step for step in SENDER_PATH if mode == "socket" or step[1] != "qdisc"]
    assert_whole_and_ordered(answer.tables["stamps"], path, 20_000)


def test_an_interface_that_vanishes_ends_packet_mode_with_its_reason(joined: Pair) -> None:
    with joined.agent(joined.left) as agent:
        agent.start(probe(mode="packet", count=100_000, live=True))
        agent.event()
        run("ip", "link", "delete", "left", namespace=joined.left)
        answer = agent.answer()
    assert answer.error is not None
    assert answer.error["why"] == "the interface went down or vanished"


def test_real_time_is_granted_or_refused_with_a_warning(joined: Pair) -> None:
    with joined.agent(joined.left) as agent:
        answer = agent.run(probe(count=5, realtime=True))
    assert answer.done is not None
    assert answer.done["replied"] == 5
    kinds = [warning["kind"] for warning in answer.done["warnings"]]
    assert kinds == ([] if answer.done["realtime"] else ["not-realtime"])


def test_an_unprivileged_user_probes_in_a_namespace_of_their_own(tmp_path: Path) -> None:
    agent_copy = tmp_path / "agent"
    agent_copy.write_bytes(agent_binary().read_bytes())
    for path in (tmp_path, *tmp_path.parents, agent_copy):
        if path.is_relative_to("/tmp") and path != Path("/tmp"):
            path.chmod(path.stat().st_mode | 0o055)
    setup = "ip link set lo up; exec " + str(agent_copy) + " serve"
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    agent = Agent(*nobody, "unshare", "-Urn", "sh", "-c", setup)
    try:
        answer = agent.run(probe(to="127.0.0.1", count=20))
        packet = agent.run(probe(to="127.0.0.1", count=20, mode="packet"))
    finally:
        agent.close()
    assert answer.error is None
    assert_whole_and_ordered(answer.tables["stamps"], SENDER_PATH, 20)
    # It gets as far as for root: the kernel drops what packet sockets send over loopback.
    assert packet.error is not None
    assert packet.error["why"] == "that is this host itself"


def test_a_probe_ends_while_its_port_is_sent_what_is_no_reply(joined: Pair) -> None:
    with misbehaving(joined, "junk") as port, joined.agent(joined.left) as agent:
        answer = agent.run(
            probe(protocol="udp", port=port, count=3, linger_ns=100_000_000, stamps=["app"])
        )
    assert answer.tables["packets"]["outcome"].to_list() == ["lost"] * 3
