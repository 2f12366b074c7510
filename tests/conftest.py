"""Settings of all tests."""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

# How long an example takes depends on what else the machine does, and is no property of the code.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")

# Tests send Ctrl-C to themselves and to programs that they start. A shell that runs them in the
# background has it ignored, and all of them would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
