"""Convergence: how forwarding tables change after an event, and where packets go meanwhile."""
