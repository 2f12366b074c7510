"""Claims: their form, their verdict, and the groups that they compare."""
