"""Build hook that puts the agent, a static binary, and the library that records into the wheel.

There is one wheel per processor. The wheel runs on any Linux.
"""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

EDITABLE = "editable"


class BuildAgent(BuildHookInterface):  # type: ignore[type-arg]
    """Hook that builds `delaylab-agent` in release mode, to be installed beside `delaylab`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build for a wheel; an editable install takes the binary that `make setup` built."""
        if version == EDITABLE:
            return
        root = Path(self.root)
        subprocess.run(
            ["tools/build_agent.sh"],
            cwd=root,
            check=True,
        )
        machine = platform.machine()
        made = f"{machine}-unknown-linux-gnu/release"
        binary = root / "target" / made / "delaylab-agent"
        library = root / "target/library" / made / "libdelaylab_replay.so"
        build_data["shared_scripts"] = {str(binary): "delaylab-agent"}
        build_data["shared_data"] = {str(library): f"lib/delaylab/{library.name}"}
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-manylinux_2_17_{machine}"
