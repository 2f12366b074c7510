"""Sections of a report, each with its terminal, JSON and HTML form."""
