"""Causes of the packets of a trial that were looked at, by the records of CPUs around them."""
