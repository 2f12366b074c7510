"""The way to another machine: its name for ssh, and how the agent is started there."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Reach(BaseModel):
    """The name by which ssh reaches a machine, and how the agent is started there.

    With `sudo` the agent runs as root, by sudo(8), whoever logs in. `cache` is the folder that it
    is put into, None for that of delaylab in the user's home.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)

    ssh: str
    sudo: bool = False
    cache: str | None = None

    @property
    def option(self) -> str:
        """Return the options of `delaylab ps`, `down` and `doctor` for this machine."""
        return f"--machine {self.ssh}" + (" --sudo" if self.sudo else "")

    @property
    def words(self) -> str:
        """Return the words between `ssh` and a command that root's agent there could carry out."""
        return f"{self.ssh} sudo" if self.sudo else self.ssh
