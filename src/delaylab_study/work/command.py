"""Commands of the user's as work: their progress and their rate, found in what they print."""

from __future__ import annotations

import re
from dataclasses import replace

from delaylab.api.agents import AgentError, Exec, ExecDone, Frame, FrameKind, Result
from delaylab_study.dataset.records.work import Figure
from delaylab_study.study_file.work import CommandWork
from delaylab_study.work.jobs import Job, JobResult, done_of, last_line, seconds_of

_LONGEST = 4096
"""The most characters of a line that are looked at."""
_LINE_ENDS = re.compile(rb"[\r\n]")


class Reports:
    """Numbers in a command's output: how much was done when, and the last rate and figures."""

    def __init__(self, work: CommandWork) -> None:
        self._progress = re.compile(work.progress) if work.progress else None
        self._result = re.compile(work.result) if work.result else None
        self._wanted = {
            name: (re.compile(each.find), each.unit) for name, each in (work.figures or {}).items()
        }
        self._figures: dict[str, float] = {}
        self._rests: dict[FrameKind, bytes] = {}
        """The line that has not ended yet, of output and of errors."""
        self._rate: float | None = None
        self._rows: list[tuple[int, float]] = []

    def hear(self, frame: Frame, since_ns: int) -> None:
        """Read output or errors that came `since_ns` after the start."""
        *lines, rest = _LINE_ENDS.split(self._rests.get(frame.kind, b"") + frame.payload)
        self._rests[frame.kind] = rest[-_LONGEST:]
        for line in lines:
            self._read(line[:_LONGEST].decode(errors="replace"), since_ns)

    def done(self, result: Result[ExecDone]) -> JobResult:
        """Return what the command got done; raise AgentError if it failed or printed no rate."""
        ended = result.done
        if ended.exit != 0:
            raise AgentError(f"it ended with {ended.how}; it said last: {last_line(result)}")
        for rest in self._rests.values():
            self._read(rest.decode(errors="replace"), None)
        if self._result is not None and self._rate is None:
            what = "nothing that it printed matches `result`"
            raise AgentError(f"{what}; it said last: {last_line(result)}")
        for name in self._wanted:
            if name not in self._figures:
                what = f"nothing that it printed matches `figures.{name}`"
                raise AgentError(f"{what}; it said last: {last_line(result)}")
        rate = 1 / seconds_of(ended) if self._rate is None else self._rate
        done = done_of(ended, rate, progress=tuple(self._rows))
        return replace(done, figures=self._found())

    def _found(self) -> tuple[Figure, ...]:
        return tuple(
            Figure(name=name, value=self._figures[name], unit=unit)
            for name, (_, unit) in self._wanted.items()
        )

    def _read(self, line: str, since_ns: int | None) -> None:
        amount = _number(self._progress, line)
        if amount is not None and since_ns is not None:
            self._rows.append((since_ns, amount))
        for name, (pattern, _) in self._wanted.items():
            value = _number(pattern, line)
            if value is not None:
                self._figures[name] = value
        rate = _number(self._result, line)
        if rate is not None:
            self._rate = rate


def job(work: CommandWork, node: str) -> Job:
    """Return the job by which a node does a work of `command`."""
    reports = Reports(work)
    return Job(
        node,
        Exec(argv=work.command, hold=True),
        reports.done,
        work=work.name,
        prepare=Exec(argv=work.prepare) if work.prepare else None,
        listen=reports.hear,
        deadline_s=work.deadline.seconds,
    )


def _number(pattern: re.Pattern[str] | None, line: str) -> float | None:
    found = pattern.search(line) if pattern is not None else None
    try:
        return float(found[1]) if found is not None else None
    except (TypeError, ValueError):
        return None
