"""A lab's timeline: its models, its checks, and what each step makes of the lab."""
