"""Isolation of the routers from each other: end of section IV C."""
