"""Principal components over sums."""
