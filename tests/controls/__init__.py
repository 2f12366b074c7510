"""Controls of claims: verdicts on the papers' own numbers, and on data without their effects."""
