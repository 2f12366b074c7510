"""Settings of the kernel (sysctls) in the networks of a lab. Pure."""

from __future__ import annotations

from delaylab.resolve.lab import Lab

PING_SOCKETS = {"net.ipv4.ping_group_range": "0 0"}
"""Allows datagram ICMP sockets to root of a node; a user namespace may name no larger range."""
PING_SOCKETS_OF_A_MACHINE = {"net.ipv4.ping_group_range": "0 2147483647"}
NO_IPV6 = {"-net.ipv6.conf.all.disable_ipv6": "1", "-net.ipv6.conf.default.disable_ipv6": "1"}
"""Settings that disable IPv6, and with it its background traffic (router solicitation, MLD)."""
AT_ONCE = {
    f"-net.ipv6.conf.{which}.{setting}": "0"
    for which in ("all", "default")
    for setting in ("disable_ipv6", "accept_dad")
}
"""Settings that have IPv6, which Docker disables, and skip duplicate address detection (RFC 4862,
5.4): a lab has no duplicates."""
FORWARDS = {"net.ipv4.ip_forward": "1", "-net.ipv6.conf.all.forwarding": "1"}
FORWARDS_NOTHING = dict.fromkeys(FORWARDS, "0")
"""A new network namespace has this machine's settings (ip-sysctl, `devconf_inherit_init_net`)."""
BY_FLOW = {f"-net.{version}.fib_multipath_hash_policy": "1" for version in ("ipv4", "ipv6")}
"""Settings by which ports, too, decide which of several next hops a packet takes (ip-sysctl)."""
ANY_WAY_BACK = {
    f"-net.ipv4.conf.{which}.{name}": "0"
    for which in ("all", "default")
    for name in ("rp_filter", "send_redirects")
}
"""Settings among routers: a packet may come by another way than back to its sender (RFC 3704)."""


def settings(lab: Lab, *, routers: bool) -> dict[str, str]:
    """Return the settings of every network of a lab; `routers`: some of its stacks forward."""
    found = {**FORWARDS_NOTHING, **PING_SOCKETS, **(AT_ONCE if 6 in lab.ip else NO_IPV6)}
    found |= ANY_WAY_BACK if routers else {}
    found |= BY_FLOW if lab.uses_every_path else {}
    return {**found, **lab.sysctls}
