"""The agent's description of its protocol, read without the models that `make docs` makes of it."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from delaylab.agent.binary import agent_path

Schema = dict[str, Any]
"""A JSON Schema, or an object of the agent's description of its protocol."""


def protocol() -> Schema:
    """Return the agent's description of its protocol (`delaylab-agent protocol`)."""
    ran = subprocess.run([str(agent_path()), "protocol"], capture_output=True, check=True)
    described: Schema = json.loads(ran.stdout)
    return described
