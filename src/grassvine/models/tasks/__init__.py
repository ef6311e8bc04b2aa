"""Models of related regressions."""
