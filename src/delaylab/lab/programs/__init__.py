"""The long-lived programs of nodes: started, asked about, recorded."""
