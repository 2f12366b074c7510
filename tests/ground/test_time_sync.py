"""Records of the state of a clock that chrony and ptp4l give."""

from __future__ import annotations

import pytest

from delaylab_study.trial.time_sync import chrony, ptp4l

TRACKING = (
    "C0000201,192.0.2.1,3,1795746346.123,-0.000012500,0.000003,0.000020,-6.800,0.001,0.020,"
    "0.000400000,0.000150000,64.2,Normal\n"
)
STATUS = """\
sending: GET TIME_STATUS_NP
\t001122.fffe.334455-0 seq 0 RESPONSE MANAGEMENT TIME_STATUS_NP
\t\tmaster_offset              -1375
\t\tgmPresent                  true
\t\tgmIdentity                 00aabb.fffe.ccddee
"""


def test_chrony_states_its_offset_and_its_bound() -> None:
    found = chrony("m1", TRACKING)
    assert found is not None
    assert (found.machine, found.source) == ("m1", "192.0.2.1")
    assert found.offset_us == pytest.approx(-12.5)
    assert found.bound_us == pytest.approx(12.5 + 200 + 150)


def test_ptp4l_states_its_offset() -> None:
    found = ptp4l("m2", STATUS)
    assert found is not None
    assert (found.source, found.offset_us, found.bound_us) == ("00aabb.fffe.ccddee", -1.375, None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "506 Cannot talk to daemon",
        TRACKING.replace("192.0.2.1", ""),
        TRACKING.replace("-0", "x"),
    ],
)
def test_a_chrony_that_follows_nothing_says_nothing(text: str) -> None:
    assert chrony("m1", text) is None


@pytest.mark.parametrize("text", ["", STATUS.replace("true", "false"), STATUS[:60]])
def test_a_ptp4l_that_follows_nothing_says_nothing(text: str) -> None:
    assert ptp4l("m1", text) is None
