"""Build hook that puts the agent into the wheel: a static binary, one wheel per processor.

The wheel runs on any Linux.
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
        binary = root / f"target/{machine}-unknown-linux-gnu/release/delaylab-agent"
        build_data["shared_scripts"] = {str(binary): "delaylab-agent"}
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-manylinux_2_17_{machine}"
