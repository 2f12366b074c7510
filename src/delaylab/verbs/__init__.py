"""Implementation of the command line's verbs; `delaylab.cli` only parses and calls."""
