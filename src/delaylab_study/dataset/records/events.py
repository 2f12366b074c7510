"""Records of the events of a trial's timeline, and of what the routers' tables did after each."""

from __future__ import annotations

from pydantic import Field

from delaylab.api.records import Count, Listed, Nanoseconds, Record, Text, Word


class Happening(Record):
    """A part of an event as it happened: what was done, to what, and when by the kernel's clock."""

    did: Word = Field(
        description="`down`, `silence`, `up` or `flap` of links; `stop`, `kill`, `start` or "
        "`restart` of nodes or their programs; `cost` of links."
    )
    names: Listed[Text] = Field(
        description="The links, or the nodes; of `cost` each link with it: `l12=100`, `l12:r1=100`."
    )
    programs: Listed[Text] = Field(
        [], description="The programs of the nodes that it was done to; empty for whole nodes."
    )
    planned_ns: Nanoseconds = Field(
        description="When it was to happen by the timeline, since the Unix epoch."
    )
    began_ns: Nanoseconds | None = Field(
        None, description="When it began to happen; null if nothing changed."
    )
    done_ns: Nanoseconds | None = Field(None, description="When all of it had happened.")
    failed: Text | None = Field(None, description="What could not be done; null if all was.")


class WaitedForCpu(Record):
    """The time in which routers' daemons were ready to run and waited for a CPU (run delay)."""

    router: Word = Field(description="The router whose daemons waited longest.")
    longest_ns: Count = Field(description="The time that its daemons waited.")
    all_ns: Count = Field(description="The time that the daemons of all routers waited.")


class EventRecord(Record):
    """An event: all that the timeline has at one time, and what the routers' tables did after it.

    It ends where the next one begins, or with the observation.
    """

    parts: Listed[Happening] = Field(description="All that happened.")
    event_ns: Nanoseconds = Field(description="When it began, since the Unix epoch.")
    until_ns: Nanoseconds = Field(
        description="When the next event began, or the observation ended."
    )
    right_ns: Nanoseconds | None = Field(
        None,
        description="The change by which the tables of all routers had exactly the shortest paths "
        "of the network as it then was; null if they did not become so, or are not known. It is "
        "`event_ns` if the event made none of them wrong.",
    )
    wrong: Text | None = Field(
        None, description="Routes that were wrong when the event ended; null if all were right."
    )
    unforeseen: Text | None = Field(
        None, description="Why it is not known which tables are right; null if it is."
    )
    quiet_ns: Count | None = Field(
        None,
        gt=0,
        description="The time without a change of a table by which the network had converged; null "
        "if the rule is that all tables are right. It had then converged with the last change in "
        "`changes`, if that came so long before `until_ns`.",
    )
    waited: WaitedForCpu | None = Field(
        None, description="What daemons waited for CPUs; null without daemons."
    )

    @property
    def words(self) -> str:
        """Return it in words: `down north, east; kill r-3`."""
        said = (
            f"{part.did} {', '.join(part.names)}"
            + (f" ({', '.join(part.programs)})" if part.programs else "")
            for part in self.parts
        )
        return "; ".join(said)

    @property
    def late_ns(self) -> int:
        """Return how much later than planned the last part was done, in ns."""
        lates = [
            part.began_ns - part.planned_ns for part in self.parts if part.began_ns is not None
        ]
        return max(lates, default=0)
