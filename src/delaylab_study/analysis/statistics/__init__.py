"""Statistics of delays: quantiles, effects, comparisons, shares."""
