"""The exact methods, row by row: ``python -m benchmarks.exact``; needs ten minutes of one core."""
