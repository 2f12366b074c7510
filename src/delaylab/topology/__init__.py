"""Maps of networks: read from other tools' files or generated, and turned into labs."""
