"""Work of nodes that all begin together: jobs, the barrier, and the work that `fair` gives."""
