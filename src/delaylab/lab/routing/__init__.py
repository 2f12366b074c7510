"""Routers of a running lab: their tables observed, and when they are right."""
