"""Pure functions: tables in, tables out."""
