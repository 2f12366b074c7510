"""Pages of reports as a reader sees them."""

from __future__ import annotations

import re

FOR_PROGRAMS = re.compile(r'<script>.*?</script>|href="data:text/csv[^"]*"', re.DOTALL)


def visible(page: str) -> str:
    """Return a page without its own script, and without the tables that links save as CSV."""
    return FOR_PROGRAMS.sub("", page)
