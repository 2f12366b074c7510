"""The verb `ping`: its probes, what it prints, and its result."""
