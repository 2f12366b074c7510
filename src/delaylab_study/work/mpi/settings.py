"""Settings of Open MPI by which the ranks of a lab use its links, and nothing of the machine's."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_interface

from delaylab.api.running import LiveLab
from delaylab_study.work.folders import WorkFolder

MPIRUN = "mpirun.openmpi"
LAUNCHING = "delaylab-launch"
READY = "delaylab-ready"
FOLDER = "DELAYLAB_WORK"
"""The environment variable with the folder of the node."""
AGENT = "launch"
AGENT_TEXT = f'echo "{LAUNCHING} $*"\n'.encode()
"""A script in place of ssh: it says which command is to be run on which node."""
FAILED = "delaylab-failed"
FAILURES = "failures"
NODE = "DELAYLAB_NODE"
# Rank 0 waits for a line, and the other ranks wait for it in MPI_Init. A rank that fails says so,
# since mpirun does not always tell which one did; and into a file, since mpirun may end before it
# has passed that on.
_RANK = f"""
cd "${FOLDER}" || exit
if [ "$OMPI_COMM_WORLD_RANK" = 0 ]; then echo {READY}; read -r go; fi
"$@" && exit
code=$?
echo "{FAILED} $OMPI_COMM_WORLD_RANK ${NODE} $code" | tee -a "${FOLDER}/{FAILURES}" >&2
exit $code
"""
_SETTINGS = {
    "plm": "rsh",
    "plm_rsh_no_tree_spawn": "1",
    "orte_leave_session_attached": "1",
    # The daemons' names below are none of a host. Nobody is to look them up.
    "opal_if_do_not_resolve": "1",
    "pml": "ob1",
    "btl_vader_single_copy_mechanism": "none",
    # A rank that waits leaves its CPU to others: a lab has more ranks than the machine has CPUs.
    "mpi_yield_when_idle": "1",
}
_NAME = "node-"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""The usual folders of programs: Open MPI needs them, and an agent in a container names none."""


def daemon_name(node: str) -> str:
    """Return the name of a node for Open MPI, which differs from that of every host.

    A name of its own host would let mpirun run ranks by itself.
    """
    return f"{_NAME}{node}"


def node_of(name: str) -> str:
    """Return the node of such a name."""
    return name.removeprefix(_NAME)


def environment(folder: WorkFolder) -> dict[str, str]:
    """Return the environment of a node's part: no settings of the user's, no files elsewhere."""
    path = str(folder.path)
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return {"PATH": _PATH, "HOME": path, "TMPDIR": path, FOLDER: path, NODE: folder.node, **allowed}


def command(
    lab: LiveLab, folders: Sequence[WorkFolder], ranks: int, program: Sequence[str]
) -> list[str]:
    """Return the command that runs a program with so many ranks on each of the folders' nodes."""
    settings = {**_SETTINGS, "plm_rsh_agent": f"/bin/sh {folders[0].file(AGENT)}"}
    if len(folders) > 1:
        settings["btl"] = "tcp,self"
        network = _common_network(lab, [each.node for each in folders])
        if network is not None:
            settings |= {"btl_tcp_if_include": network, "oob_tcp_if_include": network}
    else:
        settings |= {"btl": "vader,self", "btl_vader_backing_directory": str(folders[0].path)}
    argv = [MPIRUN, "--bind-to", "none", "--map-by", "node"]
    for name, value in settings.items():
        argv += ["--mca", name, value]
    hosts = ",".join(f"{daemon_name(each.node)}:{ranks}" for each in folders)
    argv += ["--host", hosts, "-np", str(ranks * len(folders))]
    return [*argv, "sh", "-c", _RANK, "sh", *program]


def _common_network(lab: LiveLab, nodes: Sequence[str]) -> str | None:
    """Return the network of the first link that all nodes are on; None if there is no such link."""
    of_nodes = [
        {
            str(ip_interface(address).network): None
            for attachment in lab.plan.nodes[node].attachments
            for address in attachment.addresses
            if ":" not in address
        }
        for node in nodes
    ]
    common = (network for network in of_nodes[0] if all(network in each for each in of_nodes))
    return next(common, None)
