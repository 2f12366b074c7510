"""Studies and datasets from Python: what `delaylab_study` exports (docs/api.md)."""
