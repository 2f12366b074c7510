"""Limits on YAML files, checked before anything is built from them.

Anchors let a few lines stand for billions of values, and libyaml builds nested lists by recursion.
So the file's events are counted first, each alias as all that it stands for. docs/limits.md lists
the limits.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import yaml

from delaylab.errors import BadInput

MOST_BYTES = 8 << 20
MOST_DEPTH = 50
MOST_NODES = 250_000
"""The most values, keys, lists and mappings, each alias counted as all that it stands for."""
MOST_DIGITS = 40
MOST_KEY = 1000
PLAIN_TAGS = ("!", "tag:yaml.org,2002:str")
"""Tags that change nothing: they say that text is text."""
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_RESOLVERS = yaml.SafeLoader.yaml_implicit_resolvers


def check(text: str, name: str) -> None:
    """Raise BadInput, with the line, for YAML that is too large, too deep, or not plain data.

    Errors of YAML syntax are left to the caller's parser.
    """
    if len(text) > MOST_BYTES:
        raise BadInput(f"larger than {MOST_BYTES >> 20} MiB, the most that is read", name)
    count = _Count(name)
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        count.add(event)


@dataclass(slots=True)
class _Open:
    """A list or mapping that has not ended: its nodes so far, and their depth below it."""

    anchor: str | None
    nodes: int = 1
    height: int = 0


@dataclass(slots=True)
class _Count:
    """A running count of a file's events."""

    name: str
    open: list[_Open] = field(default_factory=list)
    anchors: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Anchor -> the number of nodes that it stands for, and their depth."""
    nodes: int = 0

    def add(self, event: yaml.Event) -> None:
        """Count an event; raise BadInput if it exceeds a limit or is not plain data."""
        if isinstance(event, yaml.ScalarEvent):
            if event.tag is not None:
                self._check_tag(event, event.tag)
            if len(event.value) > MOST_DIGITS:
                self._check_number(event)
            if event.anchor is not None:
                self.anchors[event.anchor] = (1, 0)
            self._grow(event, 1, 0)
        elif isinstance(event, yaml.CollectionStartEvent):
            if event.tag is not None:
                self._check_tag(event, event.tag)
            self.open.append(_Open(event.anchor))
            self._check_depth(event, 0)
        elif isinstance(event, yaml.CollectionEndEvent):
            done = self.open.pop()
            if done.anchor is not None:
                self.anchors[done.anchor] = (done.nodes, done.height + 1)
            self._grow(event, done.nodes, done.height + 1, again=False)
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event)

    def _alias(self, event: yaml.AliasEvent) -> None:
        anchor = str(event.anchor)
        if any(one.anchor == anchor for one in self.open):
            raise self._refuse(
                f"*{anchor} stands for something that it is in", event, "write out what it means"
            )
        # The parser itself reports an unknown anchor.
        nodes, height = self.anchors.get(anchor, (1, 0))
        self._check_depth(event, height)
        self._grow(event, nodes, height)

    def _grow(self, event: yaml.Event, nodes: int, height: int, *, again: bool = True) -> None:
        if self.open:
            around = self.open[-1]
            around.nodes += nodes
            around.height = max(around.height, height)
        # The nodes within a list were counted one by one; the list itself is one more.
        self.nodes += nodes if again else 1
        if self.nodes > MOST_NODES:
            what = f"the file holds more than {MOST_NODES} values, aliases (*) written out"
            raise self._refuse(what, event, "make it smaller, or put data into files of their own")

    def _check_depth(self, event: yaml.Event, more: int) -> None:
        if len(self.open) + more > MOST_DEPTH:
            what = f"lists and mappings are nested more than {MOST_DEPTH} deep"
            raise self._refuse(what, event, "nest them less")

    def _check_tag(self, event: yaml.Event, tag: str) -> None:
        if tag not in PLAIN_TAGS:
            short = tag.replace("tag:yaml.org,2002:", "!!")[:MOST_DIGITS]
            raise self._refuse(f"a tag ({short}) says what a value is", event, "leave it out")

    def _check_number(self, event: yaml.ScalarEvent) -> None:
        value = event.value
        if event.style or event.tag:
            return
        patterns = [*_RESOLVERS.get(value[:1], ()), *_RESOLVERS.get(None, ())]
        if any(tag in _NUMBERS and pattern.match(value) for tag, pattern in patterns):
            what = f"a number has more than {MOST_DIGITS} digits"
            raise self._refuse(what, event, "write it with a unit, or as text in quotes")

    def _refuse(self, what: str, event: yaml.Event, fix: str) -> BadInput:
        mark = event.start_mark
        return BadInput(what, f"{self.name}:{mark.line + 1}" if mark else self.name, fix)
