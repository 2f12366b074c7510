"""Pure conversion of a lab to a printable plan of agents and operations."""
