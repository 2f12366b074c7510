"""What the command line's verbs do; `delaylab.cli` only parses and calls."""
