"""A lab file with all that follows from it: names, conditions, hosts, events and addresses."""
