"""Modules that a verb imports, found by running it in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

TABLES = ("polars", "pyarrow", "numpy", "scipy", "altair", "vl_convert", "docker")
"""Libraries that take long to import, and that no verb of a lab needs."""


def imported(*argv: str, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> set[str]:
    """Run a verb, which must succeed; return the names of all modules that it imported."""
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "delaylab", *argv],
        capture_output=True,
        text=True,
        check=True,
        cwd=cwd,
        env={**os.environ, **(env or {})},
    )
    lines = (line for line in ran.stderr.splitlines() if line.startswith("import time:"))
    return {line.rpartition("|")[2].strip() for line in lines}


def below(names: Iterable[str], found: set[str]) -> list[str]:
    """Return the modules among `found` that have one of these names, or are in it."""
    return sorted(
        module
        for module in found
        if any(module == name or module.startswith(f"{name}.") for name in names)
    )
