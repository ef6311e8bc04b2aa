"""Recovery of tables without noise from few entries, by variational Bayes over sums."""

from grassvine.sums.recovery.attempt import CLIPS, variational_basis

__all__ = ["CLIPS", "variational_basis"]
