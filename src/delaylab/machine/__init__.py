"""This machine: its description, its memory, and whether KVM works."""
