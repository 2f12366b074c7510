"""Parsing and checks of lab and study files; only the given files are read."""
