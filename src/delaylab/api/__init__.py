"""The Python API: what the command line's verbs do, with typed results (docs/api.md)."""
