"""Tests. Each process of theirs does its algebra on one CPU.

As many tests run at once as there are CPUs. The threads of OpenBLAS would wait for each other there
by spinning: products of small matrices took thirty times as long.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
