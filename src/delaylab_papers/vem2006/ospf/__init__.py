"""Convergence of OSPF in AS 1755: figure 21."""
