"""`delaylab ping --clean` refuses packets that a load biased, and sends others.

With the right to record CPUs it judges by what each packet waited for, else by the machine's use.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.cpu_load import loading
from tests.doing.conftest import DELAYLAB, Run, as_json
from tests.truth import clean as truth

LOCAL = "127.0.0.1"
ECHO = """
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
    server.bind(("127.0.0.1", 0))
    print(server.getsockname()[1], flush=True)
    while True:
        data, peer = server.recvfrom(2000)
        server.sendto(data, peer)
"""
REST_CPUS = 0.1
"""The CPUs that others keep busy on a machine at rest, at most."""
ALWAYS, NEVER = [3600.0], [0.0]
NO_RIGHTS = ("setpriv", "--bounding-set=-bpf,-perfmon,-sys_admin") if not os.geteuid() else ()
"""Words that run a command without the right to record CPUs, as most users have none."""
PACKETS = 150
TRIES = 3
AT_REST = 0.2
"""The most packets that others bias on a machine of which the median is still that at rest."""


def by_use(*argv: str) -> str:
    """Return the output of a ping that may not record what CPUs do."""
    command = [*NO_RIGHTS, DELAYLAB, "ping", "--clean", *argv]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.root
def test_the_clean_median_is_that_at_rest_though_a_program_has_the_cpu_of_who_answers() -> None:
    """An undisturbed ping right before is the witness. Other tests disturb it as well."""
    for _ in range(TRIES):
        found = truth.run(PACKETS)
        if (found.witness.biased_share or 0) <= AT_REST:
            break
    clean, share = found.disturbed, found.disturbed.biased_share
    assert clean.judged_by == found.witness.judged_by == "causes"
    assert clean.refused_for["run-queue wait"] > 0
    assert clean.sampling["waited_s"] == 0
    assert share is not None
    assert share > 0
    if (found.witness.biased_share or 0) > AT_REST:
        pytest.skip(f"this machine was not at rest: {truth.row(found)}")
    assert clean.user.clean is not None, truth.row(found)
    assert found.raw_error_ns > found.allowed_ns, truth.row(found)
    assert abs(found.clean_error_ns) <= found.allowed_ns, truth.row(found)


@pytest.mark.root
def test_by_causes_repeats_are_sent_at_once_and_each_refused_packet_says_what_took_how_long(
    delaylab: Run,
) -> None:
    with truth.echoing() as port, truth.bursts():
        to = ("--udp", "hello", "-p", str(port), LOCAL)
        found = as_json(delaylab("ping", "--clean", "-c", "100", "-i", "10ms", *to, "--json"))
    clean = found["clean"]
    assert clean["kept"] + clean["refused"] + clean["unknown"] == found["sent"]
    assert clean["ended_by"] in ("enough", "budget")
    assert clean["sampling"] == {
        "seconds": clean["sampling"]["seconds"],
        "waited_s": 0.0,
        "clean_share_of_time": None,
    }
    for packet in clean["refused_packets"]:
        assert set(packet["why"]) == set(packet["taken_ns"]) <= set(clean["rule"])
        # Of less it was not called biased; a cause that took under a tenth of it is not named.
        assert sum(packet["taken_ns"].values()) >= 0.5 * 50_000
    for cause, took_ns in clean["taken_ns"].items():
        each = [packet["taken_ns"].get(cause, 0) for packet in clean["refused_packets"]]
        assert took_ns == sum(each)
    assert not any(cpu["overwritten"] for cpu in clean["recorded"]["cpus"])


@pytest.mark.root
def test_the_text_says_by_what_packets_were_judged(delaylab: Run) -> None:
    asked = ("-c", "5", "-i", "20ms", "--clean-budget", "0", LOCAL)
    by_causes = delaylab("ping", "--clean", *asked).stdout
    assert "clean: judged by causes: a packet is biased if these took 50 µs or more" in by_causes
    assert (
        "clean: judged by the use of the machine, since what CPUs do cannot be recorded: it needs "
        "CAP_BPF and CAP_PERFMON, outside of user namespaces"
    ) in by_use(*asked)


def test_packets_under_load_are_refused_and_not_repeated_while_it_lasts() -> None:
    asked = ("-c", "20", "-i", "20ms", "-w", "3s", LOCAL)
    with loading(ALWAYS, NEVER):
        found = json.loads(by_use(*asked, "--json"))
        text = by_use(*asked, "-q")
    clean = found["clean"]
    assert clean["asked"] == 20
    assert clean["kept"] + clean["refused"] + clean["unknown"] == found["sent"]
    assert clean["refused"] >= 18
    assert clean["refused_for"]["busy"] >= 18
    assert clean["ended_by"] == "deadline"
    assert clean["sampling"]["waited_s"] > 0
    assert clean["sampling"]["clean_share_of_time"] < 0.2
    assert clean["median_rtt_user_ns"]["raw"]["n"] == 20
    assert {"waiting", "busy", "traffic", "steal", "slip"} == set(clean["rule"])
    assert "instead of 20: the deadline came first" in text
    assert "median user round trip: clean " in text


def test_repeats_come_when_the_load_ends_and_are_numbered_on() -> None:
    """The load lasts for longer than the schedule: what is clean are repeats."""
    with loading([4.0], [3600.0]):
        found = json.loads(by_use("-c", "20", "-i", "20ms", LOCAL, "--json"))
    clean, packets = found["clean"], found["packets"]
    assert [each["seq"] for each in packets] == list(range(found["sent"]))
    assert found["sent"] == 20 + clean["repeats"]
    assert clean["repeats"] <= clean["budget"] == 20
    assert clean["kept"] + clean["refused"] + clean["unknown"] == found["sent"]
    # A machine that others use may not be clean for long enough.
    assert clean["ended_by"] in ("enough", "budget", "patience")
    assert (clean["ended_by"] == "enough") == (clean["kept"] >= 20)


def test_without_a_budget_nothing_is_repeated(delaylab: Run) -> None:
    asked = ("ping", "--clean", "-c", "5", "-i", "20ms", "--clean-budget", "0", LOCAL)
    found = as_json(delaylab(*asked, "--json"))
    assert (found["sent"], found["clean"]["repeats"]) == (5, 0)
    assert found["clean"]["ended_by"] in ("enough", "budget")
    assert f"of at most {0} repeats sent" in delaylab(*asked).stdout


@contextmanager
def echoing() -> Iterator[int]:
    """Run a program that sends datagrams back; yield its port."""
    with subprocess.Popen([sys.executable, "-c", ECHO], stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        try:
            yield int(server.stdout.readline())
        finally:
            server.kill()


def at_random(mean_s: float, seed: int) -> list[float]:
    """Return random times for some minutes."""
    draw = random.Random(seed)
    return [min(5 * mean_s, max(0.2, draw.expovariate(1 / mean_s))) for _ in range(500)]


def cpu_s() -> tuple[float, float]:
    """CPU seconds since boot of all programs, and of this one's with its ended children."""
    ticks = list(map(int, Path("/proc/stat").read_text().split()[1:9]))
    # All but idle and iowait.
    machine = (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")
    mine = os.times()
    return machine, mine.user + mine.system + mine.children_user + mine.children_system


@dataclass
class Seen:
    """Lines on what a test of a quiet machine saw. Its output, failure or skip has them."""

    lines: list[str] = field(default_factory=list)

    def say(self, line: str) -> None:
        """Add a line, and print it."""
        self.lines.append(line)
        print(line)

    def __str__(self) -> str:
        return "; ".join(self.lines)


@contextmanager
def without_others() -> Iterator[Seen]:
    """Skip the test if others kept the machine busy meanwhile: nothing was at rest then."""
    seen = Seen()
    began_s, machine_s, mine_s = time.monotonic(), *cpu_s()
    yield seen
    machine_s, mine_s = (now - then for now, then in zip(cpu_s(), (machine_s, mine_s), strict=True))
    others = (machine_s - mine_s) / (time.monotonic() - began_s)
    seen.say(f"others kept {others:.2f} CPUs busy")
    if others > REST_CPUS:
        pytest.skip(f"this machine is not at rest: {seen}")


def told(seen: Seen, clean: dict[str, Any]) -> None:
    """Say what was kept and refused, and why."""
    why = ", ".join(f"{name} {n}" for name, n in clean["refused_for"].items())
    seen.say(
        f"{clean['kept']} kept, {clean['refused']} refused ({why}), {clean['repeats']} repeats of "
        f"at most {clean['budget']}, ended by {clean['ended_by']}"
    )
    sampling = clean["sampling"]
    share = sampling["clean_share_of_time"]
    seen.say(f"clean for {share:.0%} of {sampling['seconds']:.0f} s" if share else "never clean")


def pinged(*argv: str) -> dict[str, Any]:
    """Run a ping as a child of this process, whose CPU time is known then; judge by use."""
    found: dict[str, Any] = json.loads(by_use(*argv, "--json"))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("on_s", "off_s"),
    [([5.0], [5.0]), (at_random(2, 1), at_random(2, 2))],
    ids=["regular", "random"],
)
def test_the_clean_median_errs_by_a_fifth_of_the_raw_one_at_most(
    on_s: Sequence[float], off_s: Sequence[float]
) -> None:
    """Rest is witnessed by the packets that were sent while the load paused, by its own clock.

    Pings before and after the load are no witness: this machine's median at rest drifts by up to 40
    µs in some minutes, more than what is to be told. The schedule begins and ends with the load, so
    that the raw median is one of the load.
    """
    with echoing() as port, without_others() as seen:
        to = ("--udp", "hello", "-p", str(port), "-i", "20ms", LOCAL)
        with loading(on_s, off_s) as loaded:
            whole = pinged("-c", "2200", *to)
        found = whole["clean"]
        answered = [each for each in whole["packets"] if each["rtt_app_ns"] is not None]
        at_rest = [each for each in answered if loaded.rests_at(each["sent_ns"])]
        median = statistics.median(each["rtt_app_ns"] for each in at_rest)
        medians = found["median_rtt_user_ns"]
        told(seen, found)
        refused = {each["seq"] for each in found["refused_packets"]}
        kept = {each["seq"] for each in answered} - refused
        seen.say(
            f"{len(at_rest)} of {len(answered)} packets were sent at rest, {len(kept)} were kept, "
            f"{len(kept & {each['seq'] for each in at_rest})} are both; median at rest "
            f"{median / 1000:.1f} µs"
        )
        if medians["clean"] is None:
            pytest.skip(f"no packet was clean: {seen}")
        raw, clean = (abs(medians[each]["median"] - median) for each in ("raw", "clean"))
        seen.say(
            f"error of the raw median {raw / 1000:.1f} µs, of the clean one {clean / 1000:.1f} "
            f"({clean / raw:.2f} of it; at most 0.20)"
        )
    assert found["refused"] > 0, str(seen)
    assert clean <= raw / 5, str(seen)


@pytest.mark.slow
def test_at_rest_hardly_a_packet_is_refused() -> None:
    with without_others() as seen:
        clean = pinged("-c", "3000", "-i", "20ms", LOCAL)["clean"]
        on_schedule = sum(each["seq"] < 3000 for each in clean["refused_packets"])
        seen.say(f"false alarms at rest: {on_schedule} of 3000 ({on_schedule / 3000:.2%})")
        told(seen, clean)
    assert on_schedule < 0.01 * 3000, str(seen)
