"""Replication of the paper on simulating large networks with Xen: shares of N nodes."""
