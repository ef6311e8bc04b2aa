"""Minimisation over sums: on the Grassmann manifold, and of rows of numbers per item."""
