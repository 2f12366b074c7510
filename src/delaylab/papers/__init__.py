"""Papers, one folder each: study files, the paper's numbers, its claims and its figures."""
