"""Programs that a lab runs beside its guests, to start and serve them."""
