"""Programs of MPI that several nodes run together, started without a server of theirs."""
