"""Campaigns: the trials of a study on several machines at once."""
