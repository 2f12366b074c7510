"""Reports of a study: tables in; text, charts and pages out."""
