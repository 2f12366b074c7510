"""Assignment of routers to machines: section III C."""
