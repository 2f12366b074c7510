"""Alignment of guests' and machines' clocks to the sender's, from packets that both stamped.

`pairs` finds the packets that cross from one clock to another. `hull` finds every line that the
offset of two clocks can be, `steps` the parts of a trial that one line fits, `changes` whether a
clock was set or slewed between them, `ticks` a clock's resolution, and `least_squares` the line
through the packets at rest. `fit` combines them for two clocks, `align` for all clocks of a trial.
`check` compares the alignment with clocks that were read directly. `exchanges` are probes between
machines, which limit the offset as packets do, and `closure` the loops that they make.
"""
