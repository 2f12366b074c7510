"""Verdicts on links and on convergence: what a running lab did against what is configured."""
