"""Checks that loads did what they stand for."""
