"""Study files: their models, their checks, and the combinations that their factors make."""
