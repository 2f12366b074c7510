"""A switch that nobody saw is found again where only one is missing, and nowhere else."""

from __future__ import annotations

from delaylab.causes.cpus import CpuTime
from delaylab.causes.mended import mended
from delaylab.causes.records import IDLE
from tests.causes.records import HOG, RESPONDER, US, Cpus

UNSEEN = 99


def _runs(cpus: Cpus) -> list[tuple[int | None, int, int]]:
    window = mended(cpus.recorded(1000))
    return [
        (run.task, run.start_ns // US, run.end_ns // US)
        for run in CpuTime(window.records[0], window.end_ns).runs
    ]


def test_a_cpu_that_went_idle_unseen_was_idle_since_it_says_so() -> None:
    cpus = Cpus()
    cpus.switch(10, 0, UNSEEN)
    cpus.hide(0, IDLE)
    cpus.switch(500, 0, HOG, ran_us=460)
    assert _runs(cpus) == [(UNSEEN, 10, 40), (IDLE, 40, 500), (HOG, 500, 1000)]


def test_a_task_that_got_the_cpu_unseen_had_it_for_what_it_ran_since() -> None:
    cpus = Cpus()
    cpus.switch(10, 0, HOG)
    cpus.switch(30, 0, UNSEEN, ran_us=7000)
    cpus.hide(0, HOG)
    cpus.switch(500, 0, RESPONDER, ran_us=7300)
    assert _runs(cpus)[1:] == [(UNSEEN, 30, 200), (HOG, 200, 500), (RESPONDER, 500, 1000)]


def test_of_a_task_that_did_not_run_before_nothing_is_known() -> None:
    cpus = Cpus()
    cpus.switch(10, 0, UNSEEN)
    cpus.hide(0, HOG)
    cpus.switch(500, 0, RESPONDER, ran_us=7300)
    assert _runs(cpus)[0] == (None, 10, 500)


def test_where_two_switches_are_missing_nothing_is_known() -> None:
    cpus = Cpus()
    cpus.switch(10, 0, UNSEEN)
    cpus.hide(0, HOG)
    cpus.hide(0, IDLE)
    cpus.switch(500, 0, RESPONDER, ran_us=460)
    assert _runs(cpus)[0] == (None, 10, 500)
