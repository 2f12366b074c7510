"""A study: the order of its trials, and their run."""
