"""Links with delays, rates and losses: figures 16 to 19."""
