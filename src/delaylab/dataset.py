"""The tables on disk, and their schema: where doing and meaning meet.

One directory per study::

    study.json                       the resolved study, seed, versions, machine
    trials/ID/trial.json             one finished trial: factors, status, warnings, points
    trials/ID/{stamps,probes,hosts}.parquet
    trials.parquet                   all trials in one table, derived from the trial.json files

A trial's directory appears whole, by one rename, or not at all; it is never changed afterwards.
"""
