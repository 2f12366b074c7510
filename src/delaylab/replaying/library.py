"""Location of the library that is loaded into programs to record and replay them."""

from __future__ import annotations

from pathlib import Path

from delaylab.agent.binary import agent_path
from delaylab.errors import NotHere

LIBRARY = "lib/delaylab/libdelaylab_replay.so"


def library_path() -> Path:
    """Return the path of the library that records and replays: in `lib` beside the agent's folder.

    Raises NotHere if it is not installed.
    """
    found = agent_path().parent.parent / LIBRARY
    if not found.exists():
        raise NotHere(f"{found} is not installed", fix="run `make setup` in the checkout")
    return found
