"""The paper: its name, its claims, its table and its figure."""

from delaylab_study.papers.toolkit import Paper

from .claims import CLAIMS
from .figures import charts, tables
from .world import as_published

PAPER = Paper("mypaper", CLAIMS, charts, tables, world=as_published)
