"""Benchmarks of delaylab beside its peers: `make bench`, or `python -m benches NAME …`."""
