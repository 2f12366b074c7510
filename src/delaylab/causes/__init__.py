"""Causes: what the time of a late packet was spent on, by what each CPU did meanwhile.

`records` is what the machine's agent recorded, `cpus` what each CPU ran, `tasks` the states of a
task, `walk` the way back from a packet's arrival to its sending, `shares` its division among
causes. All of it is pure: records in, causes out.
"""
