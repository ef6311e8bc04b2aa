"""Recovery of tables without noise from few entries, by variational Bayes over sums."""

from grassvine.sums.recovery.attempt import CLIPS, variational_basis
from grassvine.sums.recovery.certificate import determined

__all__ = ["CLIPS", "determined", "variational_basis"]
