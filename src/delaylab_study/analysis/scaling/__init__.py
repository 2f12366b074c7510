"""Run time of work over the number of nodes that do it at once: a law, and what it predicts."""
