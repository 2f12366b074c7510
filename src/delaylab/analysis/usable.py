"""Data that no analysis can be made of: one line that names them, not the place in this code."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import polars as pl

from delaylab.errors import BadInput

UNUSABLE = (ArithmeticError, LookupError, ValueError, pl.exceptions.PolarsError)
"""What arithmetic and tables raise for data that records and schemas allow, and nothing else."""


@contextmanager
def usable(where: str) -> Iterator[None]:
    """Turn what arithmetic raises for data that make no sense into BadInput.

    Records and tables are checked when they are read. What only their numbers together rule out
    (a load that achieved nothing in no time, a factor that a claim asks for) is met here.
    """
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            yield
    except UNUSABLE as error:
        reason = (str(error).strip() or "no reason given").splitlines()[0]
        what = f"the data cannot be analysed: {type(error).__name__}: {reason}"
        raise BadInput(what, where, "take the trial out, or report this") from error
