"""JSON values as a script gets them."""

from __future__ import annotations

import json
from typing import Any


def plain(value: object) -> Any:
    """What a script reads of a value that is written as JSON."""
    return json.loads(json.dumps(value))
