"""Machinery for papers: found, loaded and called, their claims judged; their toolkit."""
