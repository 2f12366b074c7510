"""A port that takes what comes and drops it: nobody is answered."""

from __future__ import annotations

from tests.packets.agents import Agent, Pair, mac

PORT, SENT = 9, 200


def send(left: Agent) -> None:
    flow = {"interface": "left", "to_mac": mac(2), "from": "10.9.0.1", "to": "10.9.0.2"}
    answer = left.run(
        {"op": "generate", "flows": [flow], "probe": 1, "count": SENT, "interval_ns": 100_000}
        | {"size": 60, "port": PORT}
    )
    assert answer.done is not None
    assert answer.done["sent"] == SENT


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
        assert one.stop().done == {}
        send(left)
        assert unanswered(right) == (2 * SENT, 0, 0)
        assert other.stop().done == {}
        send(left)
        dropped, without_socket, answers = unanswered(right)
        assert (dropped, without_socket) == (2 * SENT, SENT)
        assert answers > 0
