"""Benchmarks beside their peers: `make bench`, or `python -m benches NAME …`."""
