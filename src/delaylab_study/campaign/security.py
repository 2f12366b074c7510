"""TLS of campaigns, by the files that dask takes, too."""

from __future__ import annotations

from pathlib import Path

from distributed.security import Security

from delaylab.api.errors import BadInput


def security_of(ca: Path | None, certificate: Path | None, key: Path | None) -> Security | None:
    """Return what TLS needs, None if nothing is given: then dask's own configuration holds.

    Raise BadInput if a file is not there or only some are given.
    """
    given = {"--tls-ca-file": ca, "--tls-cert": certificate, "--tls-key": key}
    if not any(given.values()):
        return None
    if lacking := [name for name, file in given.items() if file is None]:
        raise BadInput(f"TLS needs {' and '.join(lacking)}, too")
    for name, file in given.items():
        if file is not None and not file.is_file():
            raise BadInput("no such file", f"{name} {file}")
    files = {
        "tls_ca_file": str(ca),
        "tls_client_cert": str(certificate),
        "tls_client_key": str(key),
        "tls_worker_cert": str(certificate),
        "tls_worker_key": str(key),
    }
    return Security(require_encryption=True, **files)
