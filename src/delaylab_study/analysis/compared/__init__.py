"""Comparison of two datasets: like with like, level by level."""
