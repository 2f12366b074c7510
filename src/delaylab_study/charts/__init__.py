"""Charts and tables, as Vega-Lite and as words."""
