"""Templates of the report's pages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isfinite
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from delaylab.api.drawing import policy_tag
from delaylab_study.report.data import csv_of, rows_of
from delaylab_study.report.style import TEMPLATES, style_sheet
from delaylab_study.report.value import Link, Section, Span, Swatches, Table, Tone, Words
from delaylab_study.report.written import spans, values_in

BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|ns|µs|ms|s|min|h)(?!\w))")
CODE = re.compile(r"`([^`]+)`")
NO_BREAK = "\N{NO-BREAK SPACE}"
TAGS: dict[Tone, str] = {
    "strong": "<b>{}</b>",
    "good": '<span class="holds"><span class="badge">{}</span></span>',
    "bad": '<span class="badge">{}</span>',
    "small": "<small>{}</small>",
    "paper": '<span class="paper">{}</span>',
    "sign": '<i class="diamond">{}</i>',
}
SWATCH = '<i{} style="background:{}">{}</i>'
DARK = Markup(' class="deep"')


def page(title: str, sections: Sequence[Section], footer: Words = "") -> str:
    """Return a page as HTML that refers to nothing outside itself.

    Its one script sorts tables, follows links into what is folded, and switches quantiles; without
    it the page has all the same numbers.
    """
    template = _environment().get_template("page.html.j2")
    return template.render(title=title, sections=sections, footer=footer, style=style_sheet())


def _environment() -> Environment:
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
    found.filters["shown"] = shown
    found.filters["number"] = number
    found.filters["csv_link"] = csv_link
    found.filters["csv_name"] = csv_name
    found.filters["kind"] = lambda part: type(part).__name__
    script = f"<script>{(TEMPLATES / 'page.js').read_text(encoding='utf-8')}</script>"
    found.globals["content_policy"] = Markup(policy_tag(script))
    found.globals["script"] = Markup(script)
    return found


def number(said: Words) -> float | None:
    """Return the number by which a cell is sorted: its first one; None if it has none."""
    known = (value.number for value in values_in(said))
    return next((found for found in known if isfinite(found)), None)


def csv_name(table: Table) -> str:
    """Return the name of the file that a table is saved as."""
    return f"{table.key or '-'.join(table.title.lower().split()) or 'table'}.csv"


def csv_link(table: Table) -> str:
    """Return a table as CSV in a link, by which a browser saves it without a network."""
    return f"data:text/csv;charset=utf-8,{quote(csv_of(rows_of(table)))}"


def unbroken(text: str) -> str:
    """Return the text with each unit on the same line as its number, however narrow the page."""
    return BEFORE_UNIT.sub(NO_BREAK, text)


def marked(text: object) -> Markup:
    """Return the text as HTML, with what stands between backticks as code."""
    return Markup(CODE.sub(r"<code>\1</code>", str(escape(text))))


def shown(said: Words) -> Markup:
    """Return a line of words as HTML."""
    return marked(said) if isinstance(said, str) else Markup("").join(map(_span, spans(said)))


def _span(part: Span) -> Markup:
    if isinstance(part, Swatches):
        colours = (
            Markup(SWATCH).format(DARK if dark else "", colour, name)
            for name, colour, dark in part.steps
        )
        return Markup('<span class="key">{}</span>').format(Markup("").join(colours))
    text = marked(part.text).replace("\n", Markup("<br>"))
    if isinstance(part, Link):
        return Markup('<a href="#{}">{}</a>').format(part.to, text)
    return Markup(TAGS.get(part.tone, "{}")).format(text)
