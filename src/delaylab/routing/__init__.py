"""Routing daemons: their configuration, written from a lab, and their programs. Pure."""
