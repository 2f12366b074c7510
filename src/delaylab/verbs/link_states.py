"""The state of a lab's links, for `ps`."""

from __future__ import annotations

from dataclasses import dataclass

from delaylab.lab import health
from delaylab.lab.links import link_engines
from delaylab.lab.running import LiveLab
from delaylab.records.links import EngineReport
from delaylab.verdicts.links import judge

MOST_LINKS = 8
"""The most links of one state that are named."""


@dataclass(frozen=True)
class EngineState:
    """The state of a host's link engine for `ps`.

    `links` says for each link `held`, or why not, or which ends are down or silent.
    """

    host: str
    engine: str
    state: str
    why: str | None
    pid: int | None
    realtime: bool
    links: dict[str, str]

    def line(self) -> str:
        """Return the state in words."""
        if self.state != "running":
            return f"links of {self.host} are down: {self.why}"
        how = ", in real time" if self.realtime else ", without real-time scheduling"
        how = how if self.engine == "own" else ""
        bad: dict[str, list[str]] = {}
        for link, why in self.links.items():
            if why != "held":
                bad.setdefault(why, []).append(link)
        held = "; ".join(f"{_few(names)}: {why}" for why, names in bad.items()) or "all hold"
        return f"links of {self.host}: {self.engine} engine{how}; {held}"


def _few(names: list[str]) -> str:
    more = len(names) - MOST_LINKS
    return ", ".join(names[:MOST_LINKS]) + (f" and {more} more" if more > 0 else "")


def states(lab: LiveLab) -> list[EngineState]:
    """Return the state of a lab's engines for `ps`: if they run, and if their links hold."""
    return [
        EngineState(
            host=report.host,
            engine=report.engine,
            state=report.state,
            why=report.why,
            pid=report.pid,
            realtime=report.realtime,
            links=_held([report]),
        )
        for report in link_engines.reports(lab, within_s=health.PATIENCE_S)
    ]


def _held(reports: list[EngineReport]) -> dict[str, str]:
    """Return for each link `held`, or the reason why one of its directions did not hold.

    Of a link that is not up, its ends that are not are named.
    """
    found: dict[str, str] = {}
    ends: dict[str, dict[str, list[str]]] = {}
    for verdict in judge(reports):
        direction = verdict.direction
        before = found.get(direction.link, "held")
        found[direction.link] = before if verdict.held else verdict.text
        state = direction.configured.state
        if state is not None and state != "up":
            nodes = direction.nodes or [str(direction.node)]
            ends.setdefault(direction.link, {}).setdefault(state, []).extend(nodes)
    for link, states in ends.items():
        text = ", ".join(f"{state} at {' and '.join(nodes)}" for state, nodes in states.items())
        found[link] = text if found[link] == "held" else f"{text}; {found[link]}"
    return found
