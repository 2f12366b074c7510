"""Drawings: the graph of a lab, laid out once and drawn as text or SVG."""
