"""The cables of links: ports, uplinks and tunnels, from a node to the wire."""
