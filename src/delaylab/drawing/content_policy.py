"""The content policy of HTML pages: a page loads nothing, and runs no script but its own.

All text in a page is escaped. Should a name from a stranger's dataset get through all the same, a
browser does not run it (Content Security Policy Level 3).
"""

from __future__ import annotations

import base64
import hashlib
import re


def policy_tag(page: str = "") -> str:
    """Return the element for the head of a page that allows the scripts in `page` alone."""
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts]
    allowed = {
        "default-src": ["'none'"],
        "style-src": ["'unsafe-inline'"],
        "img-src": ["data:"],
        "script-src": [f"'sha256-{each}'" for each in hashes] or ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
    }
    content = "; ".join(f"{name} {' '.join(values)}" for name, values in allowed.items())
    return f'<meta http-equiv="Content-Security-Policy" content="{content}">'
