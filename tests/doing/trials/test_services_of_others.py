"""Trials whose packets are requests to servers of the distribution, in a container."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary
from delaylab.resolve.resolve import lab_from_data
from tests.doing.conftest import own_run_directory
from tests.doing.trials.test_own_service import (
    HOLDER,
    LINK_NS,
    TURN_NS,
    UPSTREAM,
    asked,
    held,
    medians,
)
from tests.sealed import certificate_of

pytestmark = [pytest.mark.root, pytest.mark.slow]

SHORT_NS = 1_000_000
"""The shorter delay that a server is asked for."""
NGINX = """\
load_module modules/ngx_http_echo_module.so;
daemon off; user root; pid /run/nginx.pid; error_log stderr;
events {}
http {
  access_log off; keepalive_requests 100000;
  server {
    listen 80; listen 443 ssl;
    ssl_certificate /etc/cert.pem; ssl_certificate_key /etc/key.pem;
    location /fast { echo fast; }
    location /short { echo_sleep 0.001; echo short; }
    location /slow { echo_sleep 0.005; echo slow; }
  }
}
"""


@pytest.fixture(scope="module")
def lab() -> Iterator[LiveLab]:
    key, certificate = certificate_of("svc")
    files = {
        "/etc/nginx.conf": NGINX,
        "/etc/cert.pem": certificate,
        "/etc/key.pem": key,
        "/etc/holder.py": HOLDER,
        "/etc/upstream.py": UPSTREAM,
    }
    start: list[object] = [
        {"run": ["nginx", "-c", "/etc/nginx.conf"], "ready": {"tcp": 443}},
        {"run": ["python3", "/etc/holder.py"], "name": "holder"},
        {"run": ["python3", "/etc/upstream.py"], "name": "upstream", "ready": {"udp": 5300}},
        {
            "run": ["dnsmasq", "-k", "--no-resolv", "--no-hosts", "--user=root",
                    "--address=/a.example/192.0.2.7", "--server=/slow.example/127.0.0.1#5300"],
            "ready": {"udp": 53},
        },
        {"run": ["socat", "UDP4-RECVFROM:9000,fork", "EXEC:cat"], "name": "echo",
         "ready": {"udp": 9000}},
        {"run": ["socat", "UDP4-RECVFROM:9005,fork", "SYSTEM:sleep 0.005; cat"], "name": "late",
         "ready": {"udp": 9005}},
    ]  # fmt: skip
    packages = ["nginx", "libnginx-mod-http-echo", "dnsmasq-base", "socat", "iptables", "python3"]
    svc = {"kind": "lxc", "packages": packages, "files": files, "start": start}
    data = {
        "lab": "others",
        "nodes": {"a": {}, "svc": svc},
        "links": [{"name": "l", "between": ["a", "svc"], "delay": f"{LINK_NS}ns"}],
    }
    with own_run_directory(), temporary(lab_from_data(data)) as live:
        yield live


@pytest.mark.parametrize("protocol", ["http", "https"])
@pytest.mark.parametrize("connections", ["new", "keep-alive"])
def test_delays_of_a_web_server(lab: LiveLab, protocol: str, connections: str) -> None:
    port = 80 if protocol == "http" else 443
    probe: dict[str, object] = {"protocol": protocol, "port": port, "connections": connections}
    if protocol == "https":
        probe["trust"] = certificate_of("svc")[1]
    usual, short, slow = (
        medians(asked(lab, number, **probe, path=f"/{path}"))
        for number, path in enumerate(("fast", "short", "slow"), 1)
    )
    with held(lab, port, "tcp"):
        waiting = medians(asked(lab, 4, **probe, path="/fast"))
    assert usual.turn < SHORT_NS < short.turn < TURN_NS < slow.turn
    assert usual.before < TURN_NS < waiting.before
    for each in (usual, short, slow, waiting):
        assert min(each.there, each.back) >= LINK_NS
        assert max(each.there, each.back) < LINK_NS + TURN_NS / 2
    assert max(short.before, slow.before) < TURN_NS / 2
    assert waiting.turn < TURN_NS / 2


@pytest.mark.parametrize(
    ("usual", "slow"),
    [
        (
            {"protocol": "dns", "port": 53, "query": "a.example"},
            {"query": "b.slow.example"},
        ),
        ({"protocol": "udp", "port": 9000, "payload": "x", "answer": "x"}, {"port": 9005}),
    ],
)
def test_delays_of_a_server_of_datagrams(
    lab: LiveLab, usual: dict[str, object], slow: dict[str, object]
) -> None:
    fast, late = (medians(asked(lab, 1, **(usual | more))) for more in ({}, slow))
    port = usual["port"]
    assert isinstance(port, int)
    with held(lab, port, "udp"):
        waiting = medians(asked(lab, 3, **usual))
    assert late.turn > max(TURN_NS, fast.turn)
    assert fast.before < TURN_NS < waiting.before
    for each in (fast, late, waiting):
        assert min(each.there, each.back) >= LINK_NS
        assert max(each.there, each.back) < LINK_NS + TURN_NS / 2
    assert max(late.before, abs(waiting.turn - fast.turn)) < TURN_NS / 2
