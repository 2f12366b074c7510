"""Settings of the kernel that a lab may have of its own: those of one network namespace.

Only settings that change how TCP and IP send are allowed. What delaylab sets itself (forwarding,
IPv6, filters) is not.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BeforeValidator

from delaylab.errors import Unexpected

Sysctl = Literal[
    "net.ipv4.ip_default_ttl",
    "net.ipv4.tcp_autocorking",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_min_tso_segs",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_pacing_ca_ratio",
    "net.ipv4.tcp_pacing_ss_ratio",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_syn_retries",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_tso_win_divisor",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_wmem",
]
"""The settings that a lab may have (ip-sysctl.rst of the kernel's documentation)."""
CONGESTION_CONTROL: Sysctl = "net.ipv4.tcp_congestion_control"
_VALUE = re.compile(r"[a-z][a-z0-9_-]{0,15}|[0-9]{1,10}( [0-9]{1,10}){0,2}")


def _value(given: object) -> str:
    text = " ".join(str(given).split())
    if isinstance(given, bool) or not _VALUE.fullmatch(text):
        raise Unexpected(f"expected a number, up to three numbers, or a name, got {text[:40]!r}")
    return text


SysctlValue = Annotated[str, BeforeValidator(_value, json_schema_input_type=int | str)]
"""The value of a setting as text: a number, up to three (`4096 131072 1048576`), or a name."""
