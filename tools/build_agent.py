"""Build hook that puts the agent, a static binary, and the library that records into the wheel.

There is one wheel per processor. Its tag names the oldest C library that can load the library that
records; all else in the wheel runs on any Linux.
"""

from __future__ import annotations

import platform
import re
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

EDITABLE = "editable"
OLDEST = 17
"""The oldest glibc that manylinux tags name for all processors: 2.17."""


class BuildAgent(BuildHookInterface):  # type: ignore[type-arg]
    """The hook that builds `delaylab-agent` in release mode, to be installed beside `delaylab`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build for a wheel; an editable install takes the binary that `make setup` built."""
        if version == EDITABLE:
            return
        root = Path(self.root)
        self.build_config.target_config.setdefault("exclude", []).extend(unknown_to_git(root))
        subprocess.run(["tools/build_agent.sh"], cwd=root, check=True)
        machine = platform.machine()
        made = f"{machine}-unknown-linux-gnu/release"
        binary = root / "target" / made / "delaylab-agent"
        library = root / "target/library" / made / "libdelaylab_replay.so"
        build_data["shared_scripts"] = {str(binary): "delaylab-agent"}
        build_data["shared_data"] = {str(library): f"lib/delaylab/{library.name}"}
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-manylinux_2_{needed_glibc(library)}_{machine}"


def needed_glibc(library: Path) -> int:
    """Return the second number of the oldest glibc that can load a library: 34 for 2.34."""
    versions = re.findall(rb"\0GLIBC_2\.(\d+)(?:\.\d+)?(?=\0)", library.read_bytes())
    return max(OLDEST, *map(int, versions))


def unknown_to_git(root: Path) -> list[str]:
    """Return patterns of the files in a checkout that git does not know; none without git."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "--others", "-z", "src"], cwd=root, check=True, capture_output=True
        )
    except (OSError, subprocess.CalledProcessError):
        return []
    names = [name for name in listed.stdout.decode().split("\0") if name]
    return ["/" + re.sub(r"([\\\[\]*?!# ])", r"\\\1", name) for name in names]
