"""A port that takes what comes and drops it: nobody is answered."""

from __future__ import annotations

import pytest

from tests.packets.agents import Agent, Pair, mac

PORT, SENT = 9, 200


def send(left: Agent, count: int = SENT, size: int = 60) -> None:
    flow = {"interface": "left", "to_mac": mac(2), "from": "10.9.0.1", "to": "10.9.0.2"}
    answer = left.run(
        {"op": "generate", "flows": [flow], "probe": 1, "count": count, "interval_ns": 100_000}
        | {"size": size, "port": PORT}
    )
    assert answer.done is not None
    assert answer.done["sent"] == count


def unanswered(right: Agent) -> tuple[int, int, int]:
    """Datagrams dropped by their socket, those without one, and ICMP messages sent so far."""
    done = right.run({"op": "counters"}).done
    assert done is not None
    udp, icmp = done["snmp"]["Udp"], done["snmp"]["Icmp"]
    return udp["InErrors"], udp["NoPorts"], icmp["OutMsgs"]


def test_what_is_discarded_is_not_answered(joined: Pair) -> None:
    with (
        joined.agent(joined.left) as left,
        joined.agent(joined.right) as right,
        joined.agent(joined.right) as one,
        joined.agent(joined.right) as other,
    ):
        for agent in (one, other):
            ready = agent.start({"op": "discard", "port": PORT})
            assert ready == {"ready": {"port": PORT}}
        send(left)
        assert unanswered(right) == (SENT, 0, 0)
        assert one.stop().done == {"interfaces": None}
        send(left)
        assert unanswered(right) == (2 * SENT, 0, 0)
        assert other.stop().done == {"interfaces": None}
        send(left)
        dropped, without_socket, answers = unanswered(right)
        assert (dropped, without_socket) == (2 * SENT, SENT)
        assert answers > 0


@pytest.mark.parametrize("size", [60, 1400])
def test_frames_behind_a_later_one_are_counted_as_reordered(joined: Pair, size: int) -> None:
    # The second run begins at number 0 again: all of its frames are behind the first run's last.
    first, second = 100, 40
    with joined.agent(joined.left) as left, joined.agent(joined.right) as right:
        right.start({"op": "discard", "port": PORT, "interfaces": ["right"]})
        for count in (first, second):
            send(left, count, size)
        assert right.stop().done == {
            "interfaces": {"right": {"received": first + second, "reordered": second}}
        }


def test_an_interface_that_is_not_there_is_named(joined: Pair) -> None:
    with joined.agent(joined.right) as right:
        answer = right.run({"op": "discard", "port": PORT, "interfaces": ["nowhere"]})
        assert answer.error is not None
        assert "nowhere" in str(answer.error)
