"""Documents in YAML: models, the places of their values, and errors with file and line."""

from __future__ import annotations

from delaylab.spec.addresses import outside
from delaylab.spec.limits import MOST_BYTES
from delaylab.spec.sentences import reason, sentences
from delaylab.spec.source import Document, Location, Problems, validate
from delaylab.spec.source import of_data as document_of_data
from delaylab.spec.source import read as read_document

__all__ = [
    "MOST_BYTES",
    "Document",
    "Location",
    "Problems",
    "document_of_data",
    "outside",
    "read_document",
    "reason",
    "sentences",
    "validate",
]
