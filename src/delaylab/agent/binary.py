"""Location of the agent's binary, and what it says without a session."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from delaylab.agent.failures import failed_command
from delaylab.errors import NotHere

NAME = "delaylab-agent"


def agent_path() -> Path:
    """Return the agent's path: $DELAYLAB_AGENT, beside this Python (a wheel), or on PATH.

    Raises NotHere if it is not installed.
    """
    given = os.environ.get("DELAYLAB_AGENT")
    if given:
        if not os.access(given, os.X_OK):
            raise NotHere(f"DELAYLAB_AGENT={given} is not a program", fix="unset it, or build it")
        return Path(given)
    beside = Path(sys.executable).parent / NAME
    if beside.exists():
        return beside
    found = shutil.which(NAME)
    if found is None:
        raise NotHere(f"{NAME} is not installed", fix="run `make setup` in the checkout")
    return Path(found)


def kernel_parts() -> dict[str, str | None]:
    """Return the parts of the kernel that links can use: each with None, or why it is missing.

    The agent tries them in a network namespace of its own. Raises DelaylabError if that fails.
    """
    tried = subprocess.run([agent_path(), "kernel"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        raise failed_command(tried.stderr)
    parts: dict[str, str | None] = json.loads(tried.stdout)
    return parts
