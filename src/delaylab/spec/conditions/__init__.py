"""Conditions of links: a lab file's form, the link engine's form, and their checks."""
