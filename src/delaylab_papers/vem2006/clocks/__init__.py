"""Synchronisation of machines' clocks by NTP: section V A."""
