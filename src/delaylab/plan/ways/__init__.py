"""The ways of a probe's packets, from node to node and from point to point."""
