"""Hook of mkdocs: links to files outside docs/ become plain text on the site.

On the repository such a link works; the site has no page for it.
"""

from __future__ import annotations

import posixpath
import re
from typing import Protocol

LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")


class File(Protocol):
    """The source file of a page."""

    src_uri: str


class Page(Protocol):
    """A page of the site."""

    file: File


def on_page_markdown(markdown: str, *, page: Page, **_: object) -> str:
    """Return the page with the text instead of each link that leaves docs/."""
    folder = posixpath.dirname(page.file.src_uri)

    def replaced(link: re.Match[str]) -> str:
        text, target = link.groups()
        outside = posixpath.normpath(posixpath.join(folder, target)).startswith("../")
        return text if outside and "://" not in target else link[0]

    return LINK.sub(replaced, markdown)
