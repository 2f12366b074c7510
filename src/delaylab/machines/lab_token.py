"""Tokens, which tell labs of one name apart where their frames meet.

MAC addresses, identifiers of tunnels and multicast groups are made of a lab's name, and of its
token.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path

from delaylab.machines.registry import run_directory

MACHINE_ID = Path("/etc/machine-id")
"""The file with the identifier of this system (machine-id(5))."""


def drawn() -> str:
    """Return a token that no other lab has."""
    return secrets.token_hex(8)


def of_this_machine() -> str:
    """Return the token of this user's labs here, which is the same at each `up`.

    Whoever is on the LAN of one of this machine's interfaces may remember MAC addresses.
    """
    try:
        machine = MACHINE_ID.read_text(errors="replace").strip()
    except OSError:
        machine = ""
    named = f"{machine or os.uname().nodename}\n{run_directory()}"
    return hashlib.sha256(named.encode()).hexdigest()[:16]
