"""Example of a replication: the folder of a paper, as docs/papers.md describes it."""
