"""Output of nuttcp, the program of a TCP stream."""

from __future__ import annotations

import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delaylab.agent.result import AgentError, Result
from delaylab.agent.wire.sessions import Exec
from delaylab_study.work.jobs import JobResult
from delaylab_study.work.tcp import nuttcp

SAID = b"""\
megabytes=1531.3750 real_sec=0.60 rate_Mbps=21271.4138 retrans=0
megabytes=761.1250 real_sec=0.70 rate_Mbps=9121.1914 retrans=0

megabytes=4354.0000 real_seconds=2.00 rate_Mbps=18254.1595 tx_cpu=28 rx_cpu=24 retrans=0 rtt_ms=0.09
"""
ENDED: dict[str, object] = {"exit": 0, "began_ns": 0, "ended_ns": 2_000_000_000}


def read(stdout: bytes, stderr: bytes = b"") -> JobResult:
    return nuttcp.read(Result(Exec(argv=["nuttcp"]), dict(ENDED), {}, stdout, stderr))


def test_a_megabyte_has_two_to_the_power_of_20_bytes() -> None:
    found = read(SAID)
    assert found.rate == pytest.approx(4354 * 8 * 2**20 / 2)
    assert found.rate == pytest.approx(18254.1595e6, rel=0.01), "its time is rounded to 10 ms"
    assert [since_ns for since_ns, _ in found.progress] == [600_000_000, 1_300_000_000]
    assert found.progress[1][1] == pytest.approx((1531.375 + 761.125) * 8 * 2**20)


@pytest.mark.parametrize(
    ("stdout", "stderr", "said"),
    [
        (b"", b"nuttcp-t: v6.1.2: error from server", "error from server"),
        (SAID[:100], b"", "nuttcp said: megabytes"),
        (SAID.replace(b"real_seconds=2.00", b"real_seconds=0.00"), b"", "nuttcp said"),
        (SAID, b"not supported by server version 0.0.0", "could not connect"),
    ],
)
def test_a_stream_that_failed_is_an_error(stdout: bytes, stderr: bytes, said: str) -> None:
    with pytest.raises(AgentError, match=said):
        read(stdout, stderr)


@given(
    st.lists(
        st.sampled_from([b"megabytes=", b" real_sec=", b" real_seconds=", b"\n", b"1", b".", b"e9"])
        | st.binary(max_size=3),
        max_size=30,
    )
)
def test_whatever_it_prints_is_a_rate_or_an_error(said: list[bytes]) -> None:
    """The program in a guest is the guest's."""
    try:
        found = read(b"".join(said))
    except AgentError:
        return
    assert found.rate >= 0
    assert all(before[0] <= after[0] for before, after in pairwise(found.progress))


@pytest.mark.parametrize(("refused", "code"), [(0, 0), (2, 0), (9, 1)])
def test_a_client_that_is_refused_connects_again_a_few_times(
    tmp_path: Path, refused: int, code: int
) -> None:
    """A program in nuttcp's place is refused so often, and then sends."""
    program, tries = tmp_path / "nuttcp", tmp_path / "tries"
    program.write_text(
        f"""#!/bin/sh
echo >> {tries}
if [ $(wc -l < {tries}) -le {refused} ]; then
  echo "nuttcp-t: Error: connect: errno=111" >&2
  exit 1
fi
echo "sent by $*"
"""
    )
    program.chmod(0o755)
    argv = nuttcp.client("198.18.0.1", (21000, 25500), 2)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    ran = subprocess.run(argv, capture_output=True, text=True, env=environment, check=False)
    assert ran.returncode == code
    assert ran.stdout.startswith("sent by -t -T2 " if code == 0 else "")
    assert ("errno=111" in ran.stderr) == (code != 0)
    assert len(tries.read_text()) == min(refused + 1, 5)
