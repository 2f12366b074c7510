"""Files and text from outside: ownership checked, sizes bounded, control characters escaped."""
