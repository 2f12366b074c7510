"""Packets are clean or biased by the use of their machine alone, from given samples."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterable, Sequence

import pytest

from delaylab.verbs.ping.clean import joined
from delaylab.verbs.ping.judging import JudgedPackets, measured_time
from delaylab.verbs.ping.result import PingPacket, PingResult
from delaylab.verdicts.bias import EvidenceByUse, MeasuredTime, clean_share, traffic_of
from delaylab.verdicts.meanwhile import Meanwhile

MS, S = 10**6, 10**9
BEGAN = 100 * S
IDLE = (0.05, 0.0, 0.0)
OWN_BPS = traffic_of(56, 0.1)


def machine(
    *each: tuple[float, float, float], waits: bool = True, mbps: Sequence[float] = ()
) -> EvidenceByUse:
    """A machine's samples each 100 ms: shares of busy and stolen time, and of time waited.

    `mbps` is what an interface carried between them; left out, the interface is not known.
    """
    meanwhile, waited_us = Meanwhile(), 0.0
    pressure = {"pressure.cpu.some_us": 0.0} if waits else {}
    meanwhile.add(BEGAN, pressure)
    for number, (busy, steal, waiting) in enumerate(each, 1):
        waited_us += waiting * 100_000
        found = {"cpu.idle": 1 - busy, "cpu.iowait": 0.0, "cpu.steal": steal}
        pressure = {"pressure.cpu.some_us": waited_us} if waits else {}
        carried = {"eth0 of here": sum(mbps[:number]) * 1e5 / 8} if mbps else {}
        meanwhile.add(BEGAN + number * 100 * MS, found | pressure, carried)
    return EvidenceByUse(meanwhile, OWN_BPS)


def at(due_ms: float, took_ms: float = 0.05, slip_ms: float = 0.0) -> MeasuredTime:
    """The time of a packet that was due so long after the first sample."""
    due = BEGAN + round(due_ms * MS)
    sent = due + round(slip_ms * MS)
    return MeasuredTime(due, sent, sent + round(took_ms * MS))


def test_a_packet_on_an_idle_machine_is_clean() -> None:
    assert machine(*[IDLE] * 5).reasons(at(250)) == []


@pytest.mark.parametrize(
    ("used", "reason"), [((0.05, 0.0, 0.11), "waiting"), ((0.26, 0.0, 0.0), "busy")]
)
def test_use_before_and_during_a_packet_biases_it_and_no_other(
    used: tuple[float, float, float], reason: str
) -> None:
    evidence = machine(IDLE, IDLE, IDLE, used, IDLE, IDLE, IDLE)
    assert evidence.reasons(at(290)) == []
    assert evidence.reasons(at(310)) == [reason]
    assert evidence.reasons(at(450)) == [reason]  # in the 100 ms before it was due
    assert evidence.reasons(at(520)) == []
    # One that is under way when the use begins depends on it, however early it was sent.
    assert evidence.reasons(at(210, took_ms=95)) == [reason]


def test_what_is_at_a_limit_is_clean() -> None:
    assert machine(*[(0.25, 0.01, 0.1)] * 12).reasons(at(1150)) == []


def test_steal_counts_over_a_second_as_one_tick_of_it_is_no_sign() -> None:
    tick = (0.05, 0.05, 0.0)
    assert machine(*[IDLE] * 9, tick, IDLE).reasons(at(1050)) == []
    assert machine(*[IDLE] * 7, tick, tick, tick, IDLE).reasons(at(1050)) == ["steal"]


def test_a_packet_that_was_sent_late_is_biased() -> None:
    evidence = machine(*[IDLE] * 5)
    assert evidence.reasons(at(250, slip_ms=1.0)) == []
    assert evidence.reasons(at(250, slip_ms=1.1)) == ["slip"]


def test_without_pressure_the_use_of_cpus_decides() -> None:
    evidence = machine(IDLE, IDLE, (1.0, 0.0, 0.9), waits=False)
    assert evidence.reasons(at(250)) == ["busy"]


def test_traffic_of_others_biases_a_packet_and_that_of_the_probe_does_not() -> None:
    """An interface that full holds packets up, however idle the CPUs are."""
    evidence = machine(*[IDLE] * 6, mbps=[0, 0.05, 0.05, 90, 0.05, 0.05])
    assert evidence.reasons(at(250)) == []
    assert evidence.reasons(at(350)) == ["traffic"]
    assert evidence.reasons(at(550)) == []
    assert OWN_BPS == 2 * 8 * 156 * (10 + 10)
    unknown = EvidenceByUse(evidence.meanwhile, own_bps=None)
    assert unknown.reasons(at(350)) == []


def test_samples_of_each_cpu_count_as_one_and_only_those_asked_for() -> None:
    """A study's watch samples each CPU, and the interfaces of places."""

    def rows(now: float, sent: float) -> list[tuple[str, str, float]]:
        machine = [
            (f"cpu{n}.{name}", share)
            for n, idle in enumerate((now, 0.9))
            for name, share in (("idle", idle), ("iowait", 0.0), ("steal", 0.0))
        ]
        return [
            *(("machine", *each) for each in machine),
            ("host.sut", "up.tx_bytes", sent),
            ("host.sut", "up.rx_bytes", sent),
            ("host.sut", "lo.tx_bytes", 9 * sent),
        ]

    samples = [(BEGAN, rows(0.9, 0.0)), (BEGAN + 100 * MS, rows(0.1, 1e5))]
    columns = list(zip(*((at, *row) for at, each in samples for row in each), strict=True))
    for cpus, busy in (((), 0.5), ((0,), 0.9), ((1,), 0.1)):
        meanwhile = Meanwhile(cpus)
        meanwhile.take(*columns)
        (use,) = meanwhile.uses(BEGAN, BEGAN + 50 * MS)
        assert use.busy == pytest.approx(busy)
        assert use.traffic_bps == pytest.approx(2 * 8e6)


def test_a_packet_that_the_samples_do_not_cover_is_not_known() -> None:
    evidence = machine(IDLE, IDLE, IDLE)
    assert evidence.reasons(at(50)) is None  # its 100 ms began before them
    assert evidence.reasons(at(299, took_ms=2)) is None
    assert EvidenceByUse(Meanwhile()).reasons(at(0)) is None


def test_the_share_of_clean_time_is_that_of_moments() -> None:
    evidence = machine(*[IDLE] * 10, *[(1.0, 0.0, 0.5)] * 10)
    share = clean_share(evidence, BEGAN, BEGAN + 2 * S)
    assert share == pytest.approx(0.5, abs=0.06)
    assert clean_share(evidence, BEGAN + 3 * S, BEGAN + 4 * S) is None


def packet(seq: int, due_ms: float, rtt_us: float | None, slip_ms: float = 0.0) -> PingPacket:
    """A packet that was due so long after the first sample."""
    time = at(due_ms, slip_ms=slip_ms)
    rtt = None if rtt_us is None else round(rtt_us * 1000)
    kernel = None if rtt is None else rtt - 1000
    return PingPacket(
        seq=seq,
        rtt_user_ns=rtt,
        rtt_kernel_ns=kernel,
        slip_ns=time.sent_ns - time.due_ns,
        outcome="lost" if rtt is None else "replied",
        sender=None,
        ttl=None,
        error=None,
        sent_ns=time.sent_ns,
    )


def judged(packets: Iterable[PingPacket], evidence: EvidenceByUse, asked: int) -> JudgedPackets:
    found = JudgedPackets(evidence, asked)
    found.judge(list(packets))
    return found


def test_clean_medians_are_beside_the_raw_one_of_the_packets_on_schedule() -> None:
    evidence = machine(*[IDLE] * 11, *[(1.0, 0.0, 0.5)] * 10, *[IDLE] * 10)
    schedule = [packet(n, 200 + 100 * n, 10 if n < 9 else 90) for n in range(18)]
    repeats = [packet(18 + n, 2250 + 50 * n, 11) for n in range(9)]
    found = judged([*schedule, *repeats], evidence, 18)
    assert found.kept == 18
    assert found.missing == 0
    outcome = found.found(repeats=9, budget=18, waited_s=0.2, ended_by="enough")
    assert list(outcome.refused) == list(range(9, 18))
    assert outcome.refused_for == {"waiting": 9, "busy": 9}
    medians = outcome.user
    assert medians.raw is not None
    assert medians.clean is not None
    assert medians.clean_on_schedule is not None
    assert medians.clean_repeats is not None
    assert (medians.raw.n, medians.raw.median) == (18, 50_000)
    assert (medians.clean.n, medians.clean.median) == (18, 10_500)
    assert (medians.clean.low, medians.clean.high) == (10_000, 11_000)
    assert (medians.clean_on_schedule.median, medians.clean_repeats.median) == (10_000, 11_000)
    assert outcome.sampling.seconds == pytest.approx(2.9, abs=0.001)  # to the end of the samples
    lines = list(outcome.lines)
    assert lines[0] == "clean: judged by the use of the machine"
    assert lines[1] == (
        "clean: 18 packets kept, 9 refused (tasks waited for a CPU: 9, CPUs busy: 9); "
        "9 of at most 18 repeats sent"
    )
    assert lines[2] == "clean: 50.0 % of the packets on schedule were biased"
    assert lines[3] == (
        "median user round trip: clean 10.5µs [10.0, 11.0] n=18, "
        "raw (all packets on schedule) 50.0µs [10.0, 90.0] n=18"
    )
    assert lines[-1].startswith("sampling: the machine was clean for ")
    kept = json.loads(json.dumps(outcome.as_json()))
    assert kept["median_rtt_kernel_ns"]["clean"]["median"] == 9_500
    assert kept["refused_packets"][0] == {"seq": 9, "why": ["waiting", "busy"], "taken_ns": {}}
    assert kept["judged_by"] == "use"
    assert kept["biased_share"] == 0.5
    assert set(kept["rule"]) == {"waiting", "busy", "traffic", "steal", "slip"}


def test_a_delay_alone_biases_no_packet() -> None:
    """Packets that are selected by their delay make any machine look quick."""
    found = judged([packet(0, 250, 40_000), packet(1, 260, 10)], machine(*[IDLE] * 5), 2)
    assert found.kept == 2


def test_a_packet_without_an_answer_depends_on_its_sending_and_is_kept() -> None:
    found = judged([packet(0, 250, None), packet(1, 900, None)], machine(*[IDLE] * 5), 3)
    assert (found.kept, found.missing) == (1, 2)
    outcome = found.found(repeats=0, budget=0, waited_s=0.0, ended_by="budget")
    assert (outcome.unknown, outcome.refused) == (1, {})
    assert list(outcome.lines)[1:4] == [
        "clean: 1 packets kept, 0 refused, 1 not known; 0 of at most 0 repeats sent",
        "clean: 0.0 % of the packets on schedule were biased",
        "clean: 1 packets instead of 3: the budget of repeats is used up",
    ]


def test_a_request_depends_on_the_time_of_its_connection_too() -> None:
    asked = PingPacket(0, 30, None, 5, "replied", None, None, None, handshake_ns=20, sent_ns=1000)
    assert measured_time(asked) == MeasuredTime(975, 980, 1030)


def test_rounds_are_one_ping() -> None:
    first = PingResult("a", "::1", 2, (packet(0, 1, 5), packet(1, 2, 5)), realtime=True)
    last = PingResult("a", "::1", 1, (packet(2, 3, 5),), realtime=False, cut_short="gone")
    whole = joined([first, last])
    assert (whole.sent, whole.replied, whole.realtime) == (3, 3, False)
    assert [each.seq for each in whole.packets] == [0, 1, 2]
    assert whole.cut_short == "gone"


def under_load(loads: list[tuple[float, float]], at_s: float) -> bool:
    """Return True if a load is on at a time."""
    return any(since <= at_s < until for since, until in loads)


def regular(_: random.Random) -> list[tuple[float, float]]:
    """5 s on, 5 s off; on at the beginning and at the end of 55 s."""
    return [(1 + 10 * n, 6 + 10 * n) for n in range(6)]


def at_random(draw: random.Random) -> list[tuple[float, float]]:
    """On for 2.5 s and off for 2 s in the mean."""
    found, at_s = list[tuple[float, float]](), 1.0
    while at_s < 56:
        until_s = at_s + draw.expovariate(1 / 2.5)
        found.append((at_s, until_s))
        at_s = until_s + draw.expovariate(1 / 2)
    return found


@pytest.mark.parametrize("loads_of", [regular, at_random])
def test_of_simulated_packets_the_clean_median_errs_little(
    loads_of: Callable[[random.Random], list[tuple[float, float]]],
) -> None:
    """The load doubles delays and keeps tasks waiting for a third of its time.

    A machine that is not at rest has a few per cent of use at rest, too.
    """
    draw = random.Random(58)
    loads = loads_of(draw)
    samples = []
    for number in range(570):
        on = sum(under_load(loads, number / 10 + part / 1000) for part in range(100)) / 100
        rest = draw.uniform(0, 0.1)
        samples.append((max(on, rest), 0.0, max(0.33 * on, draw.uniform(0, 0.03))))
    packets = []
    for seq in range(2750):
        due_ms = 1100 + 20 * seq
        usual_us = draw.lognormvariate(4, 0.3)
        packets.append(packet(seq, due_ms, usual_us * (1 + under_load(loads, due_ms / 1000))))
    found = judged(packets, machine(*samples), len(packets))
    outcome = found.found(repeats=0, budget=0, waited_s=0.0, ended_by="budget")
    clean, raw, rest_ns = outcome.user.clean, outcome.user.raw, 1000 * math.exp(4)
    assert clean is not None
    assert raw is not None
    assert abs(clean.median - rest_ns) <= abs(raw.median - rest_ns) / 5
    # Refused are those under load, and those in the 200 ms after it: a sample and the time before.
    ends = [until for _, until in loads]
    wrongly = [
        seq
        for seq in outcome.refused
        if not under_load(loads, 1.1 + seq / 50)
        and not any(end <= 1.1 + seq / 50 <= end + 0.3 for end in ends)
        and not under_load(loads, 1.1 + seq / 50 + 0.1)
    ]
    assert wrongly == []


def test_of_simulated_packets_at_rest_hardly_one_is_refused() -> None:
    draw = random.Random(58)
    samples = [(draw.uniform(0, 0.15), 0.0, draw.uniform(0, 0.05)) for _ in range(570)]
    packets = [packet(seq, 1100 + 20 * seq, draw.lognormvariate(4, 0.3)) for seq in range(2750)]
    found = judged(packets, machine(*samples), len(packets))
    assert found.missing < 0.01 * len(packets)
