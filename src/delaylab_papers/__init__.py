"""The papers that are replicated here, one folder each, found by their entry points."""
