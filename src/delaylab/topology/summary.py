"""The summary that an import prints beside the lab file."""

from __future__ import annotations

from statistics import median

from delaylab.topology.lab import MapLab
from delaylab.topology.model import BadLine
from delaylab.units import Duration


def summary(lab: MapLab) -> list[str]:
    """Return the summary, line by line: numbers, delays, assumptions, malformed lines."""
    about = lab.map
    nodes, links = _some(len(about.nodes), "node"), _some(len(about.links), "link")
    lines = [f"{lab.name}: {nodes}, {links} ({about.format})"]
    delays = sorted(link.delay for link in about.links if link.delay is not None)
    if delays:
        middle = Duration(round(median(delays)))
        lines.append(
            f"one-way delay of a link: min {Duration(delays[0])}, median {middle}, "
            f"max {Duration(delays[-1])}"
        )
    lines += [f"note: {text}" for text in lab.assumptions]
    problems = sorted(about.problems, key=lambda problem: (problem.file, problem.line))
    lines += [_problem(problem, about.source) for problem in problems]
    if about.malformed > len(about.problems):
        lines.append(f"and {about.malformed - len(about.problems)} more lines that are left out")
    return lines


def _some(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _problem(problem: BadLine, source: str) -> str:
    return f"{problem.file or source}:{problem.line}: {problem.what}"
