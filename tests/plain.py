"""JSON values as a script gets them."""

from __future__ import annotations

import json
from typing import Any


def plain(value: object) -> Any:
    """Return a value as a script reads it back from JSON."""
    return json.loads(json.dumps(value))
