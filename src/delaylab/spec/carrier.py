"""The means to take the carrier of a node's card; without models, which take long to import."""

from __future__ import annotations

from typing import Literal

CarrierBy = Literal["port", "monitor", "agent"]
"""The means to take a card's carrier: the other end of its cable, the monitor of its virtual
machine, or the agent inside, which can only set the card dormant."""
