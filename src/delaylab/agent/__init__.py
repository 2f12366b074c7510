"""The client of delaylab-agent: its binary, its protocol, its sessions."""
