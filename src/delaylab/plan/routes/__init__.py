"""The routes of all stacks, worked out from the links and their costs."""
