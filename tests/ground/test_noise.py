"""The verdict on a machine's noise, and who took its CPUs' time, from given figures."""

from __future__ import annotations

import pytest

from delaylab.verbs.noise import Seconds
from delaylab.verdicts.quiet import HOST, Hiccup, Noise, NoiseOfCpu, share, span

US, MS = 10**3, 10**6


def one(cpu: int = 0, *, lost_s: float = 0.0, longest_ns: int = 0, **more: float) -> NoiseOfCpu:
    """A CPU that was watched for 100 s."""
    counts = {10 * US: 4, 50 * US: 3, 100 * US: 2, MS: 1, 20 * MS: 7}
    return NoiseOfCpu(cpu, 100.0, lost_s, longest_ns, counts, **more)  # type: ignore[arg-type]


def test_hiccups_are_in_four_classes() -> None:
    assert one().classes == (7, 2, 1, 7)


def test_a_quiet_machine() -> None:
    noise = Noise(100, [one(lost_s=0.01, longest_ns=85 * US), one(1)])
    assert noise.quiet
    assert noise.verdict == "quiet: at most 0.010 % of a CPU's time lost, longest hiccup 85 µs"


@pytest.mark.parametrize(
    ("lost_s", "longest_ns", "quiet"),
    [(0.1, 10 * MS - 1, True), (0.101, MS, False), (0.0101, 10 * MS, False)],
)
def test_both_limits_count(lost_s: float, longest_ns: int, *, quiet: bool) -> None:
    assert Noise(100, [one(lost_s=lost_s, longest_ns=longest_ns)]).quiet is quiet


def test_the_verdict_names_the_worst_cpu_and_its_cause() -> None:
    worst = NoiseOfCpu(1, 100.0, 3.1, 3_960_000, {}, programs={"hog": 2.0, "other": 1.0})
    noise = Noise(100, [one(longest_ns=MS), worst])
    assert noise.verdict == (
        "not quiet: 3.1 % of the time lost on CPU 1, mostly while hog ran; "
        "a delay under about 4.0 ms measured here may be this machine's"
    )


def test_a_cause_explains_half_of_the_lost_time() -> None:
    assert one(lost_s=3.0, steal_s=1.5).cause() == HOST
    assert one(lost_s=3.0, steal_s=1.4).cause() is None
    assert one(lost_s=3.0, steal_s=1.5).cause(throttled_s=2.0) == (
        "by the CPU quota of its control group"
    )
    assert one().cause() is None


def test_processes_that_ended_explain_what_no_other_does() -> None:
    busy = NoiseOfCpu(0, 100.0, 2.0, MS, {}, programs={"sh": 0.9})
    noise = Noise(100, [busy], programs={"sh": 0.9, "children of make": 1.0, "children of a": 0.5})
    assert noise.cause(busy) == "while children of make ran"
    assert Noise(100, [busy], programs={"sh": 5.0}).cause(busy) is None
    named = NoiseOfCpu(0, 100.0, 2.0, MS, {}, programs={"sh": 1.1})
    assert noise.cause(named) == "while sh ran"


def test_one_long_hiccup_is_not_quiet() -> None:
    noise = Noise(100, [one(lost_s=0.02, longest_ns=20 * MS), one(1, lost_s=0.03)])
    assert noise.verdict.startswith("not quiet: a hiccup of 20 ms on CPU 0; a delay under about")


def test_samples_become_seconds() -> None:
    s = 10**9
    seconds = Seconds(times_ns=[100 * s])
    for time_ns, metric, value in (
        (101 * s, "program.3.worker", 0.75),
        (101 * s, "program.0.make", 0.5),
        (101 * s, "group.user.slice/a", 0.25),
        (101 * s, "cpu1.program.worker", 0.75),
        (101 * s, "cpu0.program.worker", 0.25),
        (101 * s, "cpu1.steal", 0.1),
        (101 * s, "cpu1.user", 0.1),
        (101 * s, "pressure.cpu.some_us", 7.0),
        (103 * s, "cpu1.program.worker.x", 1.0),
        (103 * s, "cpu1.steal", 0.1),
    ):
        seconds.add(time_ns, metric, value)
    assert seconds.programs == {
        "worker": 1.0,
        "worker.x": 1.0,
        "children of make": 0.5,
    }
    assert seconds.groups == {"user.slice/a": 0.25}
    assert seconds.on_cpus[1] == {"worker": 0.75, "worker.x": 1.0}
    assert seconds.of_cpus[1]["steal"] == pytest.approx(0.3)
    assert seconds.at(1, 100 * s + 1) == {"worker": 0.75}
    assert seconds.at(1, 102 * s) == {"worker.x": 1.0}
    assert seconds.at(0, 102 * s) == {}
    assert seconds.at(1, 99 * s) == seconds.at(1, 103 * s) == {}


def test_who_ran_around_a_hiccup() -> None:
    assert Hiccup(1, 0, MS, {"a": 0.1, "b": 0.2}).program == ("b", 0.2)
    assert Hiccup(1, 0, MS).program is None


def test_shares_and_spans_have_the_digits_that_count() -> None:
    assert [share(each) for each in (0.5, 0.031, 0.0012, 0.0001)] == [
        *("50 %", "3.1 %", "0.12 %", "0.010 %"),
    ]
    assert [span(each) for each in (999, 8_500, 85_000, 9_960_000, 12 * 10**9)] == [
        *("999 ns", "8.5 µs", "85 µs", "10 ms", "12 s"),
    ]
