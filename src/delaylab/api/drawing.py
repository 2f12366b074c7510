"""Drawing: pictures, the font and its widths, XML, and the content policy of pages."""

from __future__ import annotations

from delaylab.drawing.content_policy import policy_tag
from delaylab.drawing.font import FONT
from delaylab.drawing.xml import xml
from delaylab.verbs.pictures import Picture

__all__ = [
    "FONT",
    "Picture",
    "policy_tag",
    "xml",
]
