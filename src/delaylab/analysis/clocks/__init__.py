"""Clocks of guests, tied to the sender's by the packets that pass them both.

`pairs` finds where packets cross from one clock to another, `hull` every line that the clocks'
offset can be, `steps` where a clock was set, `least_squares` the paper's line, `fit` puts them
together for two clocks, `align` for a trial, and `check` compares that with clocks read directly.
"""
