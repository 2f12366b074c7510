"""Templates of the report's pages."""

from __future__ import annotations

import re

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from delaylab.drawing.content_policy import policy_tag
from delaylab.report.style import TEMPLATES

BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|ns|µs|ms|s|min|h)(?!\w))")
CODE = re.compile(r"`([^`]+)`")
NO_BREAK = "\N{NO-BREAK SPACE}"


def environment() -> Environment:
    """Return the settings in which pages are rendered: all text is escaped, no name is unknown."""
    found = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["unbroken"] = unbroken
    found.filters["marked"] = marked
    found.globals["content_policy"] = Markup(policy_tag())
    return found


def unbroken(text: str) -> str:
    """Return the text with each unit on the same line as its number, however narrow the page."""
    return BEFORE_UNIT.sub(NO_BREAK, text)


def marked(text: object) -> Markup:
    """Return the text as HTML, with what stands between backticks as code."""
    return Markup(CODE.sub(r"<code>\1</code>", str(escape(text))))
