"""Estimators in the manner of scikit-learn: the only room that knows it."""
