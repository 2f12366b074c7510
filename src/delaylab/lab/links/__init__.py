"""Links of a running lab: their engines, changed conditions, and hosts' interfaces."""
