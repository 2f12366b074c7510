"""Files and programs that a node gets from its routing."""

from __future__ import annotations

from dataclasses import dataclass, field

from delaylab.spec.programs import FileSpec, ProgramSpec


@dataclass(frozen=True)
class NodePrograms:
    """Files of a node by path, and the programs to start, in order.

    `needs` has programs that are restarted with another one, and its name. `ignoring_routes` are
    programs that use no message about changed routes. `read_at_line` is the line that every
    program complains of once it has read its configuration, where that has lines of the user's.
    """

    files: dict[str, FileSpec] = field(default_factory=dict)
    programs: list[ProgramSpec] = field(default_factory=list)
    needs: dict[str, str] = field(default_factory=dict)
    ignoring_routes: frozenset[str] = frozenset()
    read_at_line: int | None = None
