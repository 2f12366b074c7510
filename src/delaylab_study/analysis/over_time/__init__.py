"""Delays over time: the slowest packets, and round trips beside the machine's state."""
