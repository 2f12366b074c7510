"""Outcomes of a probe's packets, as the column `outcome` of a dataset has them."""

NOT_SENT = ("refused", "unsent")
NO_REPLY = ("lost", "mismatched")
"""Outcomes of packets that were sent, and to which no reply came: at most what is none."""
OUTCOMES = frozenset({"replied", "closed", "late", *NO_REPLY, *NOT_SENT})
