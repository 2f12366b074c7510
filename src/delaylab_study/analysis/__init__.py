"""Analysis of datasets by pure functions: tables in, tables out."""
