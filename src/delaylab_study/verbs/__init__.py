"""Verbs of studies: their work, without the command line."""
