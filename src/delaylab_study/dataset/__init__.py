"""Datasets: the records and tables in their files, and the reading and writing of them."""
