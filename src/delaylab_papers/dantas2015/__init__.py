"""Replication of dantas2015: RTTs of virtual machines beside background machines."""
