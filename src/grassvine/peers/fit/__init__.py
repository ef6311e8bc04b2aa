"""What the members fit: their data as problems, with the sums before and after the fit."""
