"""Tables in, text, pictures and pages out."""
