"""Probes of a service of one's own: who answers, what is refused, and stamps of streams."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import get_args

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from delaylab.agent.asking import RECORDS, DnsRecord
from delaylab.errors import BadInput
from delaylab.spec.source import parse
from delaylab_study.loads.asking import agent_protocol, ask
from delaylab_study.study_file.combine import combinations
from delaylab_study.study_file.load import load_study, study_from
from delaylab_study.study_file.probe import ProbeSpec
from delaylab_study.trial.ports import port
from delaylab_study.trial.segments import stamped

STUDY = """\
study: own
lab:
  lab: own
  nodes:
    a: {}
    svc:
      start:
        - {run: [web], ready: {tcp: 8000}}
        - {run: [plain], ready: {tcp: 80}}
        - {run: [echo], ready: {udp: 7}}
  links: [{between: [a, svc]}]
"""


def probe_of(said: str, study: str = STUDY) -> ProbeSpec:
    text = f"{study}probe: {{from: a, to: svc, {said}}}\n"
    (combination,) = combinations(study_from(parse(text, "own.yaml")), "quick")
    assert combination.probe is not None
    return combination.probe


@pytest.mark.parametrize(
    ("said", "responder", "to_port"),
    [
        ("protocol: http, port: 8000", "own", 8000),
        ("protocol: tcp, port: 8000", "own", 8000),
        ("protocol: http", "own", 80),
        ("protocol: http, port: 81", "delaylab", 81),
        ("protocol: tcp", "delaylab", 8462),
        ("protocol: udp", "delaylab", 8462),
        ("protocol: udp, port: 7", "own", 7),
        ("protocol: udp, port: 8000", "delaylab", 8000),
        ("protocol: udp, port: 9, payload: hello", "own", 9),
        ("protocol: tcp, port: 81, responder: own", "own", 81),
        ("protocol: https", "own", 443),
        ("protocol: dns, query: a.example", "own", 53),
    ],
)
def test_who_answers_follows_from_the_programs(said: str, responder: str, to_port: int) -> None:
    probe = probe_of(said)
    assert (probe.responder, port(probe)) == (responder, to_port)
    assert probe.answered_by_service == (responder == "own")


def test_the_kernel_answers_icmp() -> None:
    assert probe_of("protocol: icmp").responder is None


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (
            "protocol: http, port: 8000, responder: delaylab",
            "program 'web' of 'svc' has port 8000, which the probe is for",
        ),
        ("protocol: tcp, responder: own", "`port` is missing: the one that the service listens at"),
        ("protocol: udp, payload: x", "`port` is missing"),
        ("protocol: https, responder: delaylab", "does not answer a probe of `protocol: https`"),
        (
            "protocol: udp, port: 7, payload: x, responder: delaylab",
            "does not answer a probe of `p",
        ),
        ("protocol: dns", "`query` is missing"),
        ("protocol: dns, query: 'a b'", "a name of DNS"),
        ("protocol: icmp, port: 8000", "only a probe of `protocol:` `udp` or `tcp`"),
        ("protocol: icmp, responder: own", "has `responder`"),
        ("protocol: http, query: a", "only a probe of `protocol:` `dns` has `query`"),
        ("protocol: tcp, path: /x", "only a probe of `protocol:` `http` or `https` has `path`"),
        ("protocol: http, trust: any", "only a probe of `protocol:` `https` has `trust`"),
        ("protocol: udp, answer: x", "`answer` is of a probe with `payload`"),
        ("protocol: udp, payload: ''", "`payload` has 1 to 65000 bytes"),
        ("protocol: udp, port: 7, payload: x, size: 99", "has no `size`"),
        ("protocol: https, connections: two", "new' or 'keep-alive"),
        ("protocol: https, host: 'a b'", "a name of a server"),
        ("protocol: https, held: true", "has no `held`"),
        ("protocol: dns, query: a, count: 99999", "at most 22528 packets"),
    ],
)
def test_bad_input_is_one_line_with_its_place(said: str, why: str) -> None:
    with pytest.raises(BadInput) as caught:
        probe_of(said)
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "own.yaml:1" in str(caught.value)


def test_certificates_come_from_a_file(tmp_path: Path) -> None:
    said = "protocol: https, trust: {from: ca.pem}"
    file = tmp_path / "own.yaml"
    file.write_text(f"{STUDY}probe: {{from: a, to: svc, {said}}}\n")
    with pytest.raises(BadInput, match=r"ca\.pem"):
        load_study(file)
    (tmp_path / "ca.pem").write_text("-----BEGIN CERTIFICATE-----\n")
    (combination,) = combinations(load_study(file), "quick")
    assert combination.probe is not None
    asked = ask(combination.probe)
    assert asked is not None
    assert asked.trusted == "-----BEGIN CERTIFICATE-----\n"
    assert asked.host == "svc"


def test_each_type_of_record_has_its_number() -> None:
    assert set(get_args(DnsRecord)) == set(RECORDS)


def test_agents_are_told_what_to_send() -> None:
    probe = probe_of("protocol: udp, port: 7, payload: 'ü', answer: 'a*b'")
    asked = ask(probe)
    assert asked is not None
    assert (agent_protocol(probe), asked.payload, asked.answer) == ("datagram", "c3bc", "61*62")
    assert ask(probe_of("protocol: udp, port: 7")) is None


START = 2**32 - 50
"""A sequence number that wraps soon."""


@given(
    cuts=st.lists(st.integers(1, 999), max_size=8, unique=True),
    asked=st.integers(0, 999),
    first=st.integers(0, 999),
)
def test_a_packet_is_stamped_when_its_byte_is_first_seen(
    cuts: list[int], asked: int, first: int
) -> None:
    """A stream of 1000 bytes is cut into segments; each comes at the time of its first byte."""
    edges = [0, *sorted(cuts), 1000]
    runs = [
        {
            "probe": 7,
            "port": 10240,
            "leg": leg,
            "sequence": (START + begin) % 2**32,
            "length": end - begin,
            "point": point,
            "time_ns": begin,
        }
        for leg in (0, 1)
        for point in ("near", "far")
        for begin, end in itertools.pairwise(edges)
    ]
    packet = {"probe": 7, "seq": 3, "port": 10240}
    bytes_of = {"asked": (START + asked) % 2**32, "first": (START + first) % 2**32}
    found = stamped(
        pl.DataFrame(runs, schema_overrides={"leg": pl.UInt8}),
        pl.DataFrame([packet | bytes_of, packet | {"seq": 4, "asked": None, "first": None}]),
    )
    at = {0: max(e for e in edges if e <= asked), 1: max(e for e in edges if e <= first)}
    assert sorted(found.iter_rows()) == [
        (7, 3, leg, point, at[leg]) for leg in (0, 1) for point in ("far", "near")
    ]
