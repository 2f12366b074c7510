"""Names of this machine in a lab. Every verb needs them, so nothing is imported here."""

HERE = "here"
"""The name of the only host of a lab that names none: this machine."""
LOCAL_MACHINE = "local"
"""The name of this machine among the machines of a lab."""
