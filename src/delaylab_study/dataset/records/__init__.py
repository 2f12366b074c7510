"""Types of the records in a dataset's files, shared by running studies and analysing them."""
