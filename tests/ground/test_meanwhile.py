"""Verdicts on a machine during a ping, and its late packets, from given samples."""

from __future__ import annotations

import pytest

from delaylab.verbs.ping.machine import during, latest
from delaylab.verbs.ping.result import PingPacket
from delaylab.verdicts.meanwhile import Meanwhile

MS, S = 10**6, 10**9
BEGAN = 100 * S


def metrics(idle: float, waited_us: float | None, **more: float) -> dict[str, float]:
    """A sample of all CPUs as one."""
    found = {"cpu.user": 1 - idle, "cpu.idle": idle, "cpu.iowait": 0.0, "cpu.steal": 0.0}
    found |= {} if waited_us is None else {"pressure.cpu.some_us": waited_us}
    return found | {name.replace("_", "."): value for name, value in more.items()}


def samples(*each: tuple[float, float | None, dict[str, float]]) -> Meanwhile:
    """Samples 100 ms apart: the idle share, the time waited in all (µs), and further metrics."""
    meanwhile = Meanwhile()
    meanwhile.add(BEGAN, {"pressure.cpu.some_us": 0.0})
    for number, (idle, waited_us, more) in enumerate(each, 1):
        meanwhile.add(BEGAN + number * 100 * MS, metrics(idle, waited_us) | more)
    return meanwhile


def packet(seq: int, rtt_ns: int | None, slip_ns: int = 0) -> PingPacket:
    """A packet that was due 100 ms times its number after the first sample."""
    sent_ns = BEGAN + seq * 100 * MS + slip_ns
    outcome = "lost" if rtt_ns is None else "replied"
    return PingPacket(seq, rtt_ns, None, slip_ns, outcome, None, None, None, sent_ns=sent_ns)


HOG = {"processes": 9.0, "program.2.hog": 1.8, "program.0.make": 0.5}


def test_a_machine_without_anybody_who_waits_is_quiet() -> None:
    found = samples(*((0.9, 100.0 * number, {}) for number in range(10)))
    assert found.quiet
    assert found.verdict == "quiet"
    assert not list(during(found, []).lines)
    assert found.whole is not None
    assert found.whole.busy == pytest.approx(0.1)
    assert found.whole.waiting == pytest.approx(0.0009)


def test_who_ran_while_tasks_waited_is_named_with_the_time() -> None:
    found = samples((0.0, 60_000, {}), (0.0, 120_000, HOG), (1.0, 120_000, {}), (1.0, 120_000, {}))
    assert found.disturbed_s == pytest.approx(0.2)
    assert found.verdict == (
        "not quiet: tasks waited for a CPU for 0.2 of 0.4 s; "
        "then ran hog 1.80 CPUs, ended children of make 0.50 CPUs"
    )
    then = found.between(BEGAN, BEGAN + 150 * MS)
    assert then is not None
    assert then.text == (
        "100 % busy, tasks waiting for a CPU 60 % of the time, hog 1.80 CPUs, "
        "ended children of make 0.50 CPUs"
    )
    later = found.between(BEGAN + 310 * MS, BEGAN + 320 * MS)
    assert later is not None
    assert later.text == "0 % busy, tasks waiting for a CPU 0 % of the time"


def test_stolen_time_disturbs() -> None:
    found = samples((0.5, 0, {"cpu.steal": 0.011}), (0.5, 0, {"cpu.steal": 0.0}))
    assert found.verdict == (
        "not quiet: tasks waited for a CPU, or its host ran others (steal), for 0.1 of 0.2 s"
    )
    assert samples((0.5, 0, {"cpu.steal": 0.009})).quiet


@pytest.mark.parametrize(("idle", "quiet"), [(0.05, False), (0.15, True)])
def test_without_pressure_a_full_machine_is_not_quiet(idle: float, *, quiet: bool) -> None:
    found = samples((idle, None, {}))
    assert found.quiet is quiet
    assert found.whole is not None
    assert found.whole.waiting is None


def test_nothing_is_said_of_no_time() -> None:
    found = samples()
    assert found.verdict is None
    assert found.whole is None
    assert found.between(BEGAN, BEGAN + S) is None
    assert during(found, []).as_json()["quiet"] is None


def test_the_latest_packets_are_shown_with_their_own_time() -> None:
    found = samples((0.9, 0, {}), (0.0, 90_000, HOG), (0.9, 90_000, {}))
    sent = [packet(0, 5 * MS), packet(1, 10 * MS, 70 * MS), packet(2, 40 * MS), packet(3, None)]
    late = latest([*sent, *(packet(0, 5 * MS) for _ in range(3))], found)
    assert [(each.seq, each.took_ns) for each in late] == [(1, 80 * MS), (2, 40 * MS)]
    assert "mostly because it was sent late" in late[0].text
    assert "100 % busy, tasks waiting for a CPU 90 % of the time, hog" in late[0].text
    assert "10 % busy, tasks waiting for a CPU 0 % of the time" in late[1].text


def test_a_packet_after_the_last_sample_has_no_state() -> None:
    late = latest([packet(0, MS), packet(0, MS), packet(9, 9 * MS)], samples((0.9, 0, {})))
    assert [each.then for each in late] == [None]
    assert late[0].text.endswith("this machine: its state then is not known")


@pytest.mark.parametrize("rtt_ns", [1_900_000, 200_000])
def test_what_is_less_than_a_millisecond_later_is_not_late(rtt_ns: int) -> None:
    usual = [packet(0, 1_000_000) for _ in range(3)]
    assert latest([*usual, packet(0, rtt_ns)], samples((0.9, 0, {}))) == []


def test_of_a_watch_without_a_sample_nothing_is_known() -> None:
    watched = Meanwhile()
    assert watched.verdict is None
    assert watched.disturbers == {}
