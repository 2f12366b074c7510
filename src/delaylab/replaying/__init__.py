"""Record a node's program and replay it: a room apart, whose one door is `verbs.py`.

Entry points bring its verbs to the command line. Nothing else of delaylab names a module of this
room.
"""
