"""A laboratory for packet delay."""
