"""The Linux capabilities that a node's programs can have (capabilities(7))."""

from __future__ import annotations

from typing import Literal, get_args

Capability = Literal[
    "chown",
    "dac_override",
    "dac_read_search",
    "fowner",
    "fsetid",
    "kill",
    "setgid",
    "setuid",
    "setpcap",
    "linux_immutable",
    "net_bind_service",
    "net_broadcast",
    "net_admin",
    "net_raw",
    "ipc_lock",
    "ipc_owner",
    "sys_module",
    "sys_rawio",
    "sys_chroot",
    "sys_ptrace",
    "sys_pacct",
    "sys_admin",
    "sys_boot",
    "sys_nice",
    "sys_resource",
    "sys_time",
    "sys_tty_config",
    "mknod",
    "lease",
    "audit_write",
    "audit_control",
    "setfcap",
    "mac_override",
    "mac_admin",
    "syslog",
    "wake_alarm",
    "block_suspend",
    "audit_read",
    "perfmon",
    "bpf",
    "checkpoint_restore",
]
"""The names of the capabilities in the order of their numbers (linux/capability.h)."""
ALL_CAPABILITIES: tuple[Capability, ...] = get_args(Capability)
USUAL_CAPABILITIES: frozenset[Capability] = frozenset(
    {
        *("chown", "dac_override", "fowner", "fsetid", "kill", "setgid", "setuid", "setpcap"),
        *("net_bind_service", "net_raw", "net_admin", "ipc_lock", "sys_chroot", "sys_nice"),
        *("audit_write", "setfcap"),
    }
)
"""The capabilities of every node: for its files and users, and for its network like a router."""
