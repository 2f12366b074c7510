"""The server of metrics: clients that say nothing hold nobody up."""

from __future__ import annotations

import socket
import urllib.request

import pytest
from prometheus_client import CollectorRegistry, Counter

from delaylab.io import metrics_server
from delaylab.io.metrics_server import AT_ONCE, serving
from tests.waiting import PATIENCE_S


def test_silent_clients_hold_up_nobody_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics_server._Handler, "timeout", 3)
    registry = CollectorRegistry()
    Counter("seen", "Something", registry=registry).inc()
    with serving(registry, "127.0.0.1", 0) as server:
        where = ("127.0.0.1", server.server_port)
        silent = [socket.create_connection(where, timeout=PATIENCE_S) for _ in range(AT_ONCE)]
        with socket.create_connection(where, timeout=PATIENCE_S) as beyond:
            assert beyond.recv(1) == b"", "one too many is closed at once"
        assert server.refused == 1
        # Each of the silent ones is closed once its time is over, without a word of theirs.
        assert [each.recv(1) for each in silent] == [b""] * AT_ONCE
        for each in silent:
            each.close()
        url = f"http://127.0.0.1:{where[1]}/metrics"
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
            assert "seen_total 1.0" in answer.read().decode()
