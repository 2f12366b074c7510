"""Links with conditions: configured against achieved."""
