"""The paper whiteaker2011: its claims, its published numbers and its table 1.

Its charts are those of any study: this project uses the paper's terms.
"""

from delaylab.charts.delays import all_charts
from delaylab.papers.paper import Paper
from delaylab.papers.whiteaker2011.claims import CLAIMS
from delaylab.papers.whiteaker2011.table1 import table1

PAPER = Paper(CLAIMS, all_charts, layer_table=table1)
