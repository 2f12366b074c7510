"""Certificates of servers for tests."""

from __future__ import annotations

import functools
import subprocess
import tempfile
from pathlib import Path


@functools.cache
def certificate_of(name: str) -> tuple[str, str]:
    """Return a key and a certificate of a server that vouches for itself."""
    form = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")
    named = ("-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["openssl", "req", "-x509", *form, *named, "-keyout", "key.pem", "-out", "cert.pem"],
            cwd=folder,
            check=True,
            capture_output=True,
        )
        key, certificate = (Path(folder) / each for each in ("key.pem", "cert.pem"))
        return key.read_text(), certificate.read_text()
