"""Verb `delaylab link set`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from delaylab.errors import BadInput
from delaylab.lab.links import link_changes, link_engines
from delaylab.lab.routing import link_costs
from delaylab.lab.routing.link_costs import CostChange
from delaylab.lab.running import LiveLab
from delaylab.records.links import EngineReport
from delaylab.spec.conditions.files import with_files
from delaylab.spec.conditions.model import ConditionsSpec
from delaylab.spec.source import Document, parse, validate
from delaylab.verbs.links import of_link

COST = "cost"
FORM = "delay=20ms loss=1% queue=100; CONDITION=none takes it away"


@dataclass(frozen=True)
class LinkSetting:
    """A setting of a link from the command line: conditions, and a cost."""

    conditions: ConditionsSpec
    cost: int | None = None


def words(given: list[str]) -> LinkSetting:
    """Read conditions from the command line (`delay=20ms`); raise BadInput if they are invalid.

    `cost=100` is no condition: it changes the routing daemons. A value may be anything that a lab
    file allows, files included, in YAML on one line.
    """
    data: dict[str, object] = {}
    for word in given:
        name, equals, text = word.partition("=")
        if not equals or not text.strip():
            raise BadInput(f"{word!r} is not a condition", fix=f"write {FORM}")
        if name in data:
            raise BadInput(f"{name!r} is there twice", fix="say it once")
        data[name] = parse(text, word).data
    return checked(data)


def checked(given: Mapping[str, object]) -> LinkSetting:
    """Return what is said in values as in a lab file; raise BadInput if they are invalid."""
    conditions = {name: value for name, value in given.items() if name != COST}
    document = Document("link set", conditions, {}, Path.cwd())
    cost = link_costs.checked_cost(str(given[COST])) if COST in given else None
    return LinkSetting(validate(ConditionsSpec, with_files(document)), cost)


def change(
    lab: LiveLab, link: str, node: str | None, given: LinkSetting, *, to: str | None = None
) -> list[EngineReport]:
    """Change a link's conditions and its cost; return the engines' reports on it afterwards.

    With `node` only what that node sends changes, with `to` what that node receives.
    """
    if node is not None and to is not None:
        raise BadInput(
            "a change is of what one node sends or of what one receives", fix="make two changes"
        )
    if given.cost is not None:
        if to is not None:
            raise BadInput("a cost is of what a node sends", fix="say `--node`, not `--to`")
        cost = CostChange(link, node, given.cost)
        link_costs.require(lab.spec, cost)
    changes = given.conditions.says_conditions()
    if changes or given.cost is None:
        changed = link_changes.change(
            lab, link, to or node, given.conditions, receives=to is not None
        )
    else:
        changed = link_engines.reports(lab)
    if given.cost is not None:
        link_costs.change(lab, [cost])
    return of_link(changed, link)
