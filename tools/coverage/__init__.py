"""Coverage of intervals on data of known truth, for docs/method.md."""
