"""Drawings of a second process: as they would be here, in order, and never without an end."""

from __future__ import annotations

import io
import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import vl_convert

from delaylab.errors import DelaylabError
from delaylab.io.values import JsonObject
from delaylab_study.charts.drawn_beside import SecondProcess, draw_all

SPEC: JsonObject = {
    "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
    "data": {"values": [{"a": 1, "b": 2}, {"a": 2, "b": 5}]},
    "mark": "point",
    "encoding": {"x": {"field": "a"}, "y": {"field": "b"}},
}


def test_drawings_are_those_of_this_process() -> None:
    svg = vl_convert.vegalite_to_svg(dict(SPEC))
    with SecondProcess() as beside:
        drawn = beside.svg(SPEC)
        png = beside.png(lambda: drawn.result().decode())
        assert drawn.result().decode() == svg
        assert png.result() == vl_convert.svg_to_png(svg, scale=2)


def test_a_chart_that_cannot_be_drawn_does_not_end_the_others() -> None:
    answers = io.BytesIO()
    requests = [{"svg": "no drawing"}, {"spec": SPEC}]
    draw_all(io.BytesIO(b"".join(json.dumps(each).encode() + b"\n" for each in requests)), answers)
    failed, length, rest = answers.getvalue().split(maxsplit=2)
    assert failed == b"failed"
    assert int(length) > 0
    assert b"<svg" in rest
    with SecondProcess() as beside:
        bad, good = beside.png(lambda: "no drawing"), beside.svg(SPEC)
        with pytest.raises(DelaylabError, match="cannot be drawn"):
            bad.result()
        assert good.result().startswith(b"<svg")


def test_a_second_process_that_was_killed_is_an_error_and_no_wait() -> None:
    with SecondProcess() as beside:
        os.kill(beside.pid, signal.SIGKILL)
        with pytest.raises(DelaylabError, match="has ended"):
            beside.svg(SPEC).result(60)


def test_it_is_ended_with_the_context_while_it_draws() -> None:
    with SecondProcess() as beside:
        beside.svg({**SPEC, "data": {"values": [{"a": n, "b": n} for n in range(100_000)]}})
        pid = beside.pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_it_ends_when_this_process_is_killed(tmp_path: Path) -> None:
    program = tmp_path / "killed.py"
    program.write_text(
        "import os, signal\n"
        "from delaylab_study.charts.drawn_beside import SecondProcess\n"
        "with SecondProcess() as beside:\n"
        "    print(beside.pid, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    said = tmp_path / "pid"
    with said.open("w") as file:
        subprocess.run([sys.executable, program], stdout=file, check=False)
    try:
        handle = os.pidfd_open(int(said.read_text()))
    except ProcessLookupError:
        return
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        assert poll.poll(60_000), "it has not ended a minute later"
    finally:
        os.close(handle)
