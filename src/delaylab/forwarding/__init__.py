"""Forwarding tables of a lab's nodes, and where packets go by them. Pure: no file, no kernel."""
