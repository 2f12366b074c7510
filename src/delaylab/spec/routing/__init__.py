"""Routing daemons and routes of one's own in a lab file: their models and checks."""
