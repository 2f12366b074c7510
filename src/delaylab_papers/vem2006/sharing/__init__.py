"""Events that nodes of one CPU get at one moment: section V A, figure 20."""
