"""Model of a probe's feedback: packets that the machine's use may have biased are sent again."""

from __future__ import annotations

from pydantic import Field

from delaylab.api.models import Spec
from delaylab.api.units import Duration
from delaylab.api.verdicts import BIAS_PATIENCE

MOST_AGAIN = 1_000_000


class CleanSpec(Spec):
    """The refusal of packets that the use of the sender's machine may have biased.

    Others are sent after the schedule, when the machine is not in use.
    """

    budget: int | None = Field(
        None,
        ge=0,
        le=MOST_AGAIN,
        description="The most packets that are sent again in a trial; left out, `count`.",
    )
    deadline: Duration | None = Field(
        None,
        description="The time after the packets on schedule in which others are sent again. Left "
        "out, it is as long as `budget` packets take at the interval, and 10 s at least.",
    )

    def most(self, count: int) -> int:
        """Return the most packets that are sent again, for so many on schedule."""
        return count if self.budget is None else self.budget

    def lasts_s(self, count: int, interval: Duration) -> float:
        """Return the longest time for which packets are sent again, in seconds."""
        if self.deadline is not None:
            return self.deadline.seconds
        return max(BIAS_PATIENCE.seconds, self.most(count) * interval.seconds)
