"""Packets: their segments, round trips, layers, outliers and losses."""
