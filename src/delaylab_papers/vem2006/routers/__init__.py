"""Throughput and latency of virtual routers: figures 8 to 15."""
