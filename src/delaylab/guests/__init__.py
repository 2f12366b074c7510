"""Programs that a lab runs to serve its guests."""
