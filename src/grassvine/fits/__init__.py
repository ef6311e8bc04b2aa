"""Fits: from a table, divided among agents, to a model. Commands and estimators share them."""
