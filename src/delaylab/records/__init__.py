"""Records of what was measured: values that agents, labs and datasets share (docs/dataset.md)."""
