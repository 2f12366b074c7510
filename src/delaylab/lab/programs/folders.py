"""The nodes of a lab that may have programs, and the folders for those programs.

Apart from `programs.py`, so that `ps` of a lab without programs does not import their messages.
"""

from __future__ import annotations

from delaylab.lab.running import LiveLab
from delaylab.resolve.agent_names import node_agent

PROGRAMS = ".programs.work"
"""The end of the names of folders in the lab's, which the keeper removes: one for each node that
shares this machine's `/run`, with the programs that were started after the lab."""


def folder_of(lab: LiveLab, node: str) -> str | None:
    """Return the folder for a node's programs; None if it has a `/run` of its own for them."""
    own = lab.has_own_root(node) or lab.plan.nodes[node].own_folders
    return None if own else str(lab.folder_of(node_agent(node)) / f"{node}{PROGRAMS}")


def with_programs(lab: LiveLab) -> list[str]:
    """Return the nodes that may have programs; programs started later have a folder there.

    A guest keeps the state of its programs itself, so each is asked.
    """
    kept = {name.removesuffix(PROGRAMS) for name in lab.names() if name.endswith(PROGRAMS)}
    return [
        name
        for name, node in lab.plan.nodes.items()
        if node.programs or node.own_root or node.own_folders or name in kept
    ]
