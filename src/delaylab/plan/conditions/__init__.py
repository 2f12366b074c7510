"""The conditions of links, as the link engines get them."""
