"""Shares of Xen's domains in the CPU time of their host."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delaylab_study.analysis.domains import mean_shares
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.dataset.records.work import DomainTime
from delaylab_study.work import domains
from tests import synthetic
from tests.synthetic import Condition

SAID = b"""\
Name                                        ID   Mem VCPUs\tState\tTime(s)
Domain-0                                     0   460     1     r-----      12.3
guest-1                                      1   200     1     -b----       0.4
(null)                                       2   200     1     --p---       0.0
"""


def trial(**used_ns: int) -> TrialRecord:
    times = [
        DomainTime(host="sut", domain=name.replace("_", "-"), cpu_ns=cpu_ns).model_dump()
        for name, cpu_ns in used_ns.items()
    ]
    return TrialRecord.model_validate({**synthetic.trial(Condition(), 0), "domains": times})


def test_xl_is_read() -> None:
    found = domains.parsed(SAID)
    assert found == {"Domain-0": 12.3, "guest-1": 0.4, "(null)": 0.0}


def test_what_was_used_is_a_difference() -> None:
    before = {("sut", "Domain-0"): 10.0, ("sut", "gone"): 1.0, ("sut", "anew"): 3.0}
    after = {("sut", "Domain-0"): 12.5, ("sut", "came"): 0.5, ("sut", "anew"): 0.1}
    (found,) = domains.used(before, after)
    assert (found.domain, found.cpu_ns) == ("Domain-0", 2_500_000_000)


def test_shares_are_means_over_trials() -> None:
    found = mean_shares([trial(Domain_0=900, guest_1=100), trial(Domain_0=700, guest_1=300)])
    assert found == {"sut": {"Domain-0": pytest.approx(0.8), "guest-1": pytest.approx(0.2)}}
    assert mean_shares([trial(), trial(Domain_0=0)]) == {}


@given(st.binary(max_size=200))
def test_whatever_xl_prints_is_no_error(said: bytes) -> None:
    for time_s in domains.parsed(b"Domain-0  0 460 1 r----- 12.3\n" + said).values():
        assert time_s >= 0
