"""What all records share."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """Never changed once it is made. Fields that a later version wrote are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)
