"""Errors for data that cannot be analysed: one line that names the data, not a place in code."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import polars as pl

from delaylab.api.errors import BadInput

UNUSABLE = (ArithmeticError, LookupError, ValueError, pl.exceptions.PolarsError)
"""Exceptions that arithmetic and tables raise for senseless data that records and schemas allow."""


@contextmanager
def usable(where: str) -> Iterator[None]:
    """Raise BadInput in place of the exceptions that senseless data cause in the analysis.

    Records and tables are checked when they are read. Data that are impossible only in combination
    (a load that achieved nothing in no time, a factor that a claim needs) are caught here.
    """
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            yield
    except UNUSABLE as error:
        reason = (str(error).strip() or "no reason given").splitlines()[0]
        what = f"the data cannot be analysed: {type(error).__name__}: {reason}"
        raise BadInput(what, where, "take the trial out, or report this") from error
