"""Verbs of studies; entry points in `pyproject.toml` bring them to the command line."""
