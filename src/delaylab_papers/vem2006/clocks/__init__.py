"""Synchronisation of machines' clocks by NTP: section VI A."""
