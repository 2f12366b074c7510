"""TCP streams between pairs of nodes, by iperf3 or nuttcp."""
