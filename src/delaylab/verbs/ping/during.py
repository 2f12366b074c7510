"""The state of this machine during a ping, and around its late packets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from delaylab.io.values import JsonObject
from delaylab.verbs.time_of_day import time_of_day
from delaylab.verdicts.meanwhile import MachineThen, Meanwhile

MORE = "`delaylab noise` measures what that costs"


@dataclass(frozen=True, slots=True, kw_only=True)
class LatePacket:
    """A packet that took much longer than others, and the state of this machine then.

    `took_ns` is its round trip with `slip_ns`, the time by which it was sent late. `sent_ns` is
    when it was sent, since 1970.
    """

    seq: int
    sent_ns: int
    took_ns: int
    slip_ns: int
    then: MachineThen | None

    @property
    def text(self) -> str:
        """Return the packet with what the machine did then."""
        late = ", mostly because it was sent late" if 2 * self.slip_ns > self.took_ns else ""
        then = "its state then is not known" if self.then is None else self.then.text
        at = time_of_day(self.sent_ns)[:-3]
        return f"seq={self.seq} at {at}: {self.took_ns / 1e6:.3f}ms{late}; this machine: {then}"

    def as_json(self) -> JsonObject:
        """Return the packet as `ping --json` prints it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class MachineDuring:
    """The state of this machine during a ping, and the latest packets, the latest first."""

    meanwhile: Meanwhile
    late: Sequence[LatePacket] = ()

    @property
    def lines(self) -> Iterator[str]:
        """Yield a line for each of the latest packets, and one if the machine was not quiet."""
        yield from (f"late: {each.text}" for each in self.late)
        if self.verdict:
            yield self.verdict

    @property
    def verdict(self) -> str | None:
        """Return a line if the machine was not quiet."""
        found = self.meanwhile.verdict
        return None if found is None or self.meanwhile.quiet else f"this machine: {found}; {MORE}"

    def as_json(self) -> JsonObject:
        """Return the machine and the packets as `ping --json` prints them."""
        found, whole = self.meanwhile, self.meanwhile.whole
        return {
            "quiet": None if whole is None else found.quiet,
            "verdict": found.verdict,
            "seconds": found.seconds,
            "disturbed_s": found.disturbed_s,
            "state": None if whole is None else asdict(whole),
            "while_disturbed": dict(found.disturbers),
            "late": [each.as_json() for each in self.late],
        }
