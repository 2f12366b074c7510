"""The report of a link engine as its agent sends it."""

from __future__ import annotations

from delaylab.agent.replies import Text
from delaylab.records.links import EngineReport


class SentReport(EngineReport):
    """A link engine's report as the agent sends it, which does not know the host's name."""

    host: Text = ""
