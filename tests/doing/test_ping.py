"""`delaylab ping`, and the probe's user RTT beside iputils' ping."""

from __future__ import annotations

import re
import signal
import statistics
import subprocess
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from delaylab.agent.requests import Exec, Probe
from delaylab.lab.running import Lab
from delaylab.lab.start import temporary
from delaylab.spec import LabSpec
from tests.doing.conftest import DELAYLAB, Run, as_json

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


def test_ctrl_c_prints_the_summary(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [str(DELAYLAB), "ping", "-i", "20ms", "127.0.0.1"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(4)]
    process.send_signal(signal.SIGINT)
    rest = process.stdout.read()
    assert process.wait() == 0
    assert lines[3].startswith("seq=2")
    assert re.search(r"\d+ sent, \d+ replied", rest)


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (("no-such-host.invalid",), "no address for 'no-such-host.invalid'"),
        (("-i", "fast", "127.0.0.1"), "expected a duration such as 250ms"),
        (("-6", "127.0.0.1"), "no address for '127.0.0.1'"),
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
    spec = LabSpec.model_validate(
        {"lab": "beside", "nodes": {"a": {}, "b": {}}, "links": [{"join": ["a", "b"]}]}
    )
    with temporary(spec, accounting=False) as lab:
        address = lab.plan.interfaces["b"][0].addresses[0].split("/")[0]
        differences = [ours(lab, address) - pings(lab, address) for _ in range(ROUNDS)]
    assert statistics.median(differences) <= MAY_EXCEED_US, differences


def pings(lab: Lab, address: str) -> float:
    """Median user RTT of `ping -U` in µs."""
    session = lab.node_session("a")
    argv = ["ping", "-U", "-n", "-i", "0.01", "-c", str(COUNT), address]
    done = session.call(Exec(argv=argv))
    times = [float(t) * 1e3 for t in re.findall(rb"time=([\d.]+) ms", done.stdout)]
    assert len(times) == COUNT
    return statistics.median(times)


def ours(lab: Lab, address: str) -> float:
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
    stamps = result.table("stamps").filter(pl.col("point").cast(pl.String) == "app")
    both = stamps.filter(leg=0).join(stamps.filter(leg=1), on="seq", suffix="_reply")
    assert len(both) == COUNT
    return float(np.median((both["time_ns_reply"] - both["time_ns"]).to_numpy())) / 1e3
