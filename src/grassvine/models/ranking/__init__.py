"""Models that rank items, and what recommendations of any model share."""
