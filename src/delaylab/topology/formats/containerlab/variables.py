"""Variables in containerlab topologies: `${NAME:=default}`, and magic ones such as a node's name.

Variables of this machine are not read: an import gives the same lab everywhere.
"""

from __future__ import annotations

import re

COMMENT = r"^[ \t]*#[^\n]*$"
NAME = r"[A-Za-z_]\w{0,99}"
BRACED = re.compile(
    rf"{COMMENT}|\$\$|\$\{{(?P<name>{NAME})(?P<how>:?[-=+])(?P<usual>[^{{}}\n]{{0,1000}})\}}", re.M
)
BARE = re.compile(rf"{COMMENT}|(?P<escaped>\$\$)|\$\{{?(?P<name>{NAME})\}}?", re.M)
MOST_NESTED = 5
GIT = re.compile(r"__git(?:Branch|Hash)__")


def expanded(source: str) -> tuple[str, tuple[str, ...]]:
    """Return a text in which variables have their defaults, and remarks on each of them."""
    said: dict[str, None] = {}

    def usual(match: re.Match[str]) -> str:
        if match["name"] is None:
            return match[0]
        value = "" if "+" in match["how"] else match["usual"]
        said[f"variable {match['name']} is taken as not set: it becomes {value[:40]!r}"] = None
        return value

    def bare(match: re.Match[str]) -> str:
        if match["escaped"]:
            return "$"
        if match["name"] is not None:
            said[f"variable {match['name']} has no default: it stays as it is"] = None
        return match[0]

    for _ in range(MOST_NESTED):
        after = BRACED.sub(usual, source)
        if after == source:
            break
        source = after
    return BARE.sub(bare, source), tuple(said)


def named(text: str) -> str:
    """Return the name of a lab; Git is not asked, and so it is as outside of a repository."""
    return GIT.sub("none", text)


def of_node(text: str, lab: str, node: str) -> str:
    """Return a text of a node in which magic variables have their values."""
    folder = f"clab-{lab}"
    values = {
        "__clabNodeName__": node,
        "__clabNodeDir__": f"{folder}/{node}",
        "__clabLabName__": folder,
        "__clabDir__": folder,
    }
    for name, value in values.items():
        text = text.replace(name, value)
    return text
