"""A running lab: its sessions, files, health and link engines."""
