"""Replication of vem2006: links with conditions, virtual routers and their isolation."""
