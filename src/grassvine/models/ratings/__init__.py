"""Models of ratings: predictions, recommendations and their accuracy."""
