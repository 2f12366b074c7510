"""Replication of whiteaker2011, "Explaining Packet Delays under Virtualization" (CCR 41(1))."""
