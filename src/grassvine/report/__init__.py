"""Figures, pages, progress bars and diagnoses."""
