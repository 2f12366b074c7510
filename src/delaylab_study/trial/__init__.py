"""One trial: clock readings, instruments, sender, rate search, measurement."""
