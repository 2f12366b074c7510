"""Doubts about the data, raised by packets, clocks and the machine."""
