"""A program that makes packets late: it takes a CPU for 5 ms, twenty times a second."""

CULPRIT = """
import os, time
open("/proc/self/comm", "w").write("culprit")
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(60))
while True:
    time.sleep(0.045)
    until = time.monotonic() + 0.005
    while time.monotonic() < until:
        pass
"""
