"""Replication of oliveira2022: the overhead of virtualisation in RTTs."""
