"""HTTP server of metrics that no client can hold up: few connections at once, each for seconds."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app

AT_ONCE = 16
"""The most connections at once; a scraper needs one."""
PATIENCE_S = 10.0
"""The longest time that a connection may wait for its client."""

_Request = socket.socket | tuple[bytes, socket.socket]


class _Handler(WSGIRequestHandler):
    timeout = PATIENCE_S  # of each read and write (socketserver.StreamRequestHandler)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True

    def server_activate(self) -> None:
        """Listen, with room for so many connections."""
        self._free = threading.Semaphore(AT_ONCE)
        self.refused = 0
        super().server_activate()

    def process_request(self, request: _Request, client_address: object) -> None:
        """Serve a connection in a thread of its own, or close it if there are too many."""
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.refused += 1
            self.shutdown_request(request)

    def process_request_thread(self, request: _Request, client_address: object) -> None:
        """Serve a connection, and then make room for another one."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: _Request, client_address: object) -> None:
        """Ignore the error of one connection: its client has gone, or was too slow."""


class _Server6(_Server):
    address_family = socket.AF_INET6


@contextmanager
def serving(registry: CollectorRegistry, address: str, port: int) -> Iterator[_Server]:
    """Serve metrics for the length of a block; yield the server, whose `refused` counts refusals.

    Raise OSError if the port cannot be had.
    """
    family, *_ = socket.getaddrinfo(address, port, flags=socket.AI_PASSIVE)[0]
    kind = _Server6 if family == socket.AF_INET6 else _Server
    server = make_server(address, port, make_wsgi_app(registry), kind, _Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
