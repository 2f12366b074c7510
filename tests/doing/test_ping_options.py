"""Options of `delaylab ping` that ping(8) has, too: a deadline, a source; and its jitter."""

from __future__ import annotations

import itertools
import re
import socket
import statistics
import time

import pytest

from delaylab.verbs.ping_result import jitter
from tests.doing.conftest import Run, as_json

LOCAL = "127.0.0.1"


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
    began = time.monotonic()
    quiet = as_json(delaylab("ping", "-i", "10ms", "-w", "500ms", "--json", "127.0.0.1"))
    text = delaylab("ping", "-i", "10ms", "--deadline", "0.5", "127.0.0.1").stdout
    assert time.monotonic() - began < 60  # without a deadline it is over 1000 s
    assert 0 < quiet["replied"] <= quiet["sent"] < 1000
    assert len(quiet["packets"]) == quiet["sent"]
    assert re.search(r"\d+ sent, \d+ replied, 0 late, 0 lost", text)


def test_a_ping_is_sent_from_the_address_that_is_given(delaylab: Run) -> None:
    with socket.create_server((LOCAL, 0)) as server:
        port = str(server.getsockname()[1])
        to = ("--tcp", "-p", port, "-c", "1", "-I", "127.0.0.9", LOCAL)
        assert as_json(delaylab("ping", *to, "--json"))["replied"] == 1
        server.settimeout(20)
        connection, peer = server.accept()
        connection.close()
    assert peer[0] == "127.0.0.9"
    assert as_json(delaylab("ping", "-c", "1", "-I", "127.0.0.9", "--json", LOCAL))["replied"] == 1


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("-I", "192.0.2.77"), "nothing can be sent from 192.0.2.77"),
        (("-I", "eth0"), "'eth0' is no address"),
        (("-I", "127.0.0.9", "-6"), "leave out -4 and -6"),
        (("--hops", "-w", "1s"), "leave out --deadline"),
        (("-w", "soon"), "--deadline"),
    ],
)
def test_a_source_or_deadline_that_cannot_be_is_one_line(
    delaylab: Run, argv: tuple[str, ...], said: str
) -> None:
    assert said in delaylab("ping", "-c", "1", *argv, LOCAL, code=2).stderr
