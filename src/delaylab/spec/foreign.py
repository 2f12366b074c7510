"""Files of other tools, recognised by their content so that their user learns what is wanted."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from delaylab.errors import BadInput

LOOKED_AT = 2000
"""Characters of a text in which its first element is looked for."""
XML_NETWORK = "an XML network, such as SNDlib's"
FIX = "`delaylab schema lab` describes lab files, `delaylab schema study` studies"
MARKUP = {
    "<graphml": "a GraphML file",
    "<scenario": "a scenario of CORE",
    "<network": XML_NETWORK,
    "<?xml": "an XML file",
    "graph [": "a GML file",
    "Topology: (": "a BRITE topology",
}
"""Files by what stands first in them; the first that fits counts."""


IMPORTED = {
    "a GraphML file",
    "a GML file",
    XML_NETWORK,
    "a BRITE topology",
    "a containerlab topology",
}
"""Files that `delaylab import` reads."""


def _has(*keys: str) -> Callable[[Mapping[str, object]], bool]:
    return lambda data: all(key in data for key in keys)


def _is_netlab(data: Mapping[str, object]) -> bool:
    own = {"module", "provider", "plugin", "addressing", "groups", "validate"}
    links = data.get("links")
    pairs = isinstance(links, list) and any(isinstance(link, str) for link in links)
    said = any(key in own or key.partition(".")[0] == "defaults" for key in data)
    return "nodes" in data and (pairs or isinstance(data["nodes"], list) or said)


OWN = {"lab", "study"}
"""Fields that a file of delaylab has."""
MAPPINGS: dict[str, Callable[[Mapping[str, object]], bool]] = {
    "a project of GNS3": _has("project_id", "topology"),
    "a containerlab topology": _has("topology"),
    "a Compose file": _has("services"),
    "a Kubernetes manifest": _has("apiVersion", "kind"),
    "a netlab topology": _is_netlab,
}
"""Files by their first keys; the first that fits counts."""


def refuse_markup(text: str, name: str) -> None:
    """Raise BadInput for a text that another tool reads and that is not YAML."""
    head = text[:LOOKED_AT].lstrip("\ufeff \t\r\n")
    inside = head if head.startswith("<") else head[: len("Topology: (")]
    what = next((what for first, what in MARKUP.items() if first in inside), None)
    if what is not None:
        raise BadInput(f"this is {what}, not a file of delaylab", f"{name}:1", remedy(what, name))


def remedy(what: str, name: str) -> str:
    """Return what to do with a file of another tool."""
    if what in IMPORTED:
        return f"make a lab file of it: delaylab import {name} -o lab.yaml"
    return FIX


def foreign(data: object) -> str | None:
    """Return what another tool's mapping is; None for one of delaylab, or an unknown one."""
    if not isinstance(data, dict) or not OWN.isdisjoint(data):
        return None
    return next((what for what, fits in MAPPINGS.items() if fits(data)), None)
