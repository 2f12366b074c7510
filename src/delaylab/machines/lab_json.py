"""The file `lab.json` in the folder of a lab that is up."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from delaylab.agent.wire.sessions import BuildDone
from delaylab.machines.machine import LabRecord


class LabJson(BaseModel):
    """The content of `lab.json`: a lab that is up."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    record: LabRecord
    keeper: BuildDone
